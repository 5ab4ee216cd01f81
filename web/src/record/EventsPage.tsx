import { Page } from '../part/Page'
import { Explorer } from './Explorer'
import { events } from '../api/fields'

export default function EventsPage() {
  return (
    <Page title="Events">
      <Explorer kind={events} of="all" />
    </Page>
  )
}
