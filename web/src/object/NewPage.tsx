import { useState } from 'react'
import { createObject, nameIn } from '../api/changes'
import { type Schema, useSchema } from '../api/schema'
import { titleOf } from '../api/words'
import { useTenant } from '../api/useData'
import type { JsonObject } from '../api/value'
import { emptyOf, type Problem } from '../form/section'
import { refusalOf } from '../form/useEdit'
import { Page } from '../part/Page'
import { Empty, Shown } from '../part/Shown'
import { Link } from '../url/Link'
import { go } from '../url/location'
import { Editor } from './Editor'

/** The form of an object that is not there yet. */
export default function NewPage({ kind }: { kind: string }) {
  const schema = useSchema(kind)
  const title = schema.value ? titleOf(schema.value) : kind
  return (
    <Page title={`New ${title}`} lead={<Link to={`/objects/${kind}`}>{title}</Link>}>
      <Shown of={schema} what="this kind of object">
        {(known) => (known.creatable ? <Creating schema={known} /> : <Empty title={`A ${title} is not created by hand`}>It comes by itself, or there is one from the start.</Empty>)}
      </Shown>
    </Page>
  )
}

function Creating({ schema }: { schema: Schema }) {
  const tenant = useTenant()
  const [base] = useState<JsonObject>(() => Object.fromEntries(schema.fields.filter((field) => field.required).map((field) => [field.name, emptyOf(field)])))
  const [value, setValue] = useState(base)
  const [isBusy, setBusy] = useState(false)
  const [refusal, setRefusal] = useState<{ problem: Problem | undefined; message: string }>({ problem: undefined, message: '' })
  const save = async () => {
    setBusy(true)
    try {
      const made = await createObject(schema.name, value, tenant, `${schema.name} ${nameIn(value)} created`)
      go(`/objects/${schema.name}/${String(made['uuid'])}`)
      return true
    } catch (error) {
      setRefusal(refusalOf(error))
      setBusy(false)
      return false
    }
  }
  const edit = { base, value, isChanged: value !== base, isBusy, ...refusal, change: setValue, reset: () => setValue(base), save }
  return <Editor schema={schema} edit={edit} tenant={tenant} does="Create" />
}
