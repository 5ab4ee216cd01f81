import { type FormEvent, useEffect, useState } from 'react'
import { createObject, nameIn, readObject } from '../api/changes'
import { ApiError } from '../api/client'
import { type Level, type Privilege, type Resource } from '../api/roles'
import { type Kind, useSchema } from '../api/schema'
import type { List } from '../api/types'
import { useData, useTenant } from '../api/useData'
import type { JsonObject } from '../api/value'
import change from '../form/change.module.css'
import { Conflict } from '../form/Conflict'
import form from '../form/form.module.css'
import { refusalOf, useEdit } from '../form/useEdit'
import { Panel } from '../part/Panel'
import { Empty, Loading, Shown } from '../part/Shown'
import { Link } from '../url/Link'
import { go } from '../url/location'
import { useUnsaved } from '../url/unsaved'
import css from './account.module.css'
import { Privileges } from './Privileges'
import { Settings } from './Settings'
import { Text } from './Text'

const kind = 'role'
const onceMs = 600_000

/** One role, as a table of resources; "new" is the one that is not there yet. */
export default function RolePage({ uuid }: { uuid: string }) {
  const schema = useSchema(kind)
  const resources = useData<List<Resource>>('/api/weir/permission', onceMs)
  const tenant = useTenant()
  const [read, setRead] = useState<JsonObject>()
  const [failed, setFailed] = useState('')
  const isNew = uuid === 'new'
  useEffect(() => {
    if (isNew) return
    let isOld = false
    readObject(kind, uuid, tenant).then(
      (object) => !isOld && setRead(object),
      (error: unknown) => !isOld && setFailed(error instanceof ApiError ? error.message : String(error)),
    )
    return () => {
      isOld = true
    }
  }, [uuid, tenant, isNew])
  return (
    <Settings title={isNew ? 'New role' : read ? nameIn(read) : 'Role'} lead={<Link to="/settings/users">Users and roles</Link>}>
      <Shown of={schema} what="roles">
        {(known) => (
          <Shown of={resources} what="the resources of roles">
            {({ results }) => {
              if (isNew) return <Creating may={known} resources={results} tenant={tenant} />
              if (failed) return <Empty title="You may not see this role, or there is none">{failed}</Empty>
              return read ? <Editing key={uuid} may={known} resources={results} read={read} tenant={tenant} /> : <Loading />
            }}
          </Shown>
        )}
      </Shown>
    </Settings>
  )
}

interface Props {
  may: Kind
  resources: Resource[]
  tenant: string
}

const privilegesIn = (object: JsonObject) => (object['privileges'] ?? []) as unknown as Privilege[]
const withPrivileges = (object: JsonObject, privileges: Privilege[]): JsonObject => ({ ...object, privileges: privileges.map((one) => ({ ...one })) })

function Editing({ may, resources, read, tenant }: Props & { read: JsonObject }) {
  const edit = useEdit(kind, read, tenant)
  useUnsaved(edit.isChanged)
  return (
    <>
      {edit.theirs && <Conflict base={edit.base} mine={edit.value} theirs={edit.theirs} onTheirs={edit.takeTheirs} onMine={edit.mergeMine} />}
      <RoleForm
        does="Save"
        why={may.may_change ? '' : (may.why_not ?? '')}
        resources={resources}
        value={edit.value}
        onChange={edit.change}
        isBusy={edit.isBusy || !edit.isChanged}
        problem={edit.theirs ? '' : edit.message}
        save={edit.save}
      />
    </>
  )
}

function Creating({ may, resources, tenant }: Props) {
  const [value, setValue] = useState<JsonObject>({ name: '', privileges: [] })
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState('')
  const save = async () => {
    setBusy(true)
    try {
      const made = await createObject(kind, value, tenant, `role ${nameIn(value)} created`)
      go(`/settings/roles/${String(made['uuid'])}`)
    } catch (error) {
      setProblem(refusalOf(error).message)
      setBusy(false)
    }
  }
  return <RoleForm does="Create" why={may.may_create ? '' : (may.why_not ?? '')} resources={resources} value={value} onChange={setValue} isBusy={isBusy} problem={problem} save={save} />
}

interface FormProps {
  does: string
  /** Why the user may not; empty: the user may. */
  why: string
  resources: Resource[]
  value: JsonObject
  onChange: (value: JsonObject) => void
  isBusy: boolean
  problem: string
  save: () => Promise<unknown>
}

function RoleForm({ does, why, resources, value, onChange, isBusy, problem, save }: FormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void save()
  }
  const set = (privileges: Privilege[]) => onChange(withPrivileges(value, privileges))
  const all = (level: Level) => set([...privilegesIn(value).filter((one) => !resources.some(({ resource }) => resource === one.resource)), ...resources.map(({ resource }) => ({ resource, type: level }))])
  return (
    <form className={css.part} onSubmit={submit} noValidate>
      {why && <p className={css.readonly}>{`You can look, and not change: ${why}`}</p>}
      <Panel title="Role">
        <div className={`${form.form} ${css.inner}`}>
          <Text label="Name" autoComplete="off" disabled={why !== ''} value={String(value['name'] ?? '')} onChange={(event) => onChange({ ...value, name: event.target.value })} />
          <p className={change.actions}>
            <button type="submit" className={change.primary} disabled={why !== '' || isBusy} title={why || undefined}>{does}</button>
            <button type="button" disabled={why !== ''} onClick={() => all('READ_ACCESS')}>Read all</button>
            <button type="button" disabled={why !== ''} onClick={() => all('NO_ACCESS')}>Allow nothing</button>
          </p>
          {problem && <p role="alert" className={change.wrong}>{problem}</p>}
        </div>
      </Panel>
      <Panel title="What it allows" note="in each tenant in which a user has it; to write includes to read">
        <Privileges resources={resources} value={privilegesIn(value)} isDisabled={why !== ''} onChange={set} />
      </Panel>
    </form>
  )
}
