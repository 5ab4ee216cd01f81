import { useEffect, useState } from 'react'
import { nameIn, readObject, removeObject } from '../api/changes'
import { ApiError } from '../api/client'
import { revealText } from '../api/reveal'
import { type Schema, useSchema } from '../api/schema'
import { titleOf } from '../api/words'
import { type JsonObject } from '../api/value'
import { useTenant } from '../api/useData'
import { Act } from '../form/Act'
import css from '../form/change.module.css'
import { Conflict } from '../form/Conflict'
import { useEdit } from '../form/useEdit'
import { Page } from '../part/Page'
import { Empty, Loading, Shown } from '../part/Shown'
import { Link } from '../url/Link'
import { go } from '../url/location'
import { Editor } from './Editor'

/** One object: its form, its JSON, and what can be done with it. */
export default function ObjectPage({ kind, uuid }: { kind: string; uuid: string }) {
  const schema = useSchema(kind)
  const tenant = useTenant()
  const [read, setRead] = useState<JsonObject>()
  const [failed, setFailed] = useState<ApiError>()
  const [tries, setTries] = useState(0)
  useEffect(() => {
    let isOld = false
    readObject(kind, uuid, tenant).then(
      (object) => !isOld && setRead(object),
      (error: unknown) => !isOld && setFailed(error instanceof ApiError ? error : new ApiError(0, String(error))),
    )
    return () => {
      isOld = true
    }
  }, [kind, uuid, tenant, tries])
  const again = () => {
    setFailed(undefined)
    setTries(tries + 1)
  }
  const kindTitle = schema.value ? titleOf(schema.value) : '…'
  const title = read && !schema.value?.only ? revealText(nameIn(read)) : kindTitle
  return (
    <Page title={title} lead={schema.value && <Lead schema={schema.value} />}>
      <Shown of={schema} what="this kind of object">
        {(known) => {
          if (failed) {
            return (
              <Empty title={failed.status === 403 ? 'You may not see this object' : failed.status === 404 ? 'There is no such object, or not in this tenant' : 'This object could not be read'}>
                {failed.message} <button onClick={again}>Read again</button>
              </Empty>
            )
          }
          if (!read) return <Loading />
          return <Editing key={`${uuid} ${tries}`} schema={known} read={read} tenant={tenant} />
        }}
      </Shown>
    </Page>
  )
}

// Where people look at objects of a kind.
const pages: Record<string, string> = { virtualservice: 'services', pool: 'pools' }

function Lead({ schema }: { schema: Schema }) {
  return (
    <span className={css.dim}>
      {schema.only ? <Link to="/objects">Objects</Link> : <Link to={`/objects/${schema.name}`}>{titleOf(schema)}</Link>}
    </span>
  )
}

function Editing({ schema, read, tenant }: { schema: Schema; read: JsonObject; tenant: string }) {
  const edit = useEdit(schema.name, read, tenant)
  const uuid = String(read['uuid'])
  const page = pages[schema.name]
  const name = nameIn(edit.base)
  return (
    <>
      {edit.theirs && <Conflict base={edit.base} mine={edit.value} theirs={edit.theirs} onTheirs={edit.takeTheirs} onMine={edit.mergeMine} />}
      <Editor schema={schema} edit={edit} tenant={tenant}>
        {page && <Link to={`/${page}/${uuid}`}>See how it does</Link>}
        {!schema.only && (
          <Act
            kind={schema.name}
            needs="may_delete"
            isDangerous
            asks={{ title: `Delete ${titleOf(schema).toLowerCase()} ${revealText(name)}?`, text: 'What refers to it keeps it from being deleted: the controller says what that is.' }}
            does={async () => {
              await removeObject(schema.name, edit.base, tenant, `${schema.name} ${name} deleted`, schema.creatable)
              go(`/objects/${schema.name}`)
            }}
          >
            Delete
          </Act>
        )}
      </Editor>
    </>
  )
}
