import { Dialog } from '@base-ui/react/dialog'
import css from './app.module.css'
import { keys } from './keys'

export function Help({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={css.backdrop} />
        <Dialog.Popup className={css.dialog}>
          <Dialog.Title className={css.dialogTitle}>Keys</Dialog.Title>
          <dl className={css.keys}>
            {keys.map(([key, does]) => (
              <div key={key}>
                <dt><kbd>{key}</kbd></dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <Dialog.Close className={css.close}>Close</Dialog.Close>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
