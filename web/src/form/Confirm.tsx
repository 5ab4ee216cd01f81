import { Dialog } from '@base-ui/react/dialog'
import { type ReactNode, useState } from 'react'
import css from './change.module.css'

interface Props {
  title: string
  children?: ReactNode
  /** What the button says. */
  does: string
  isDangerous?: boolean
  onClose: () => void
  onConfirm: () => Promise<void>
}

/** Asks before something that others notice. An error stays in the dialog. */
export function Confirm({ title, children, does, isDangerous = false, onClose, onConfirm }: Props) {
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const confirm = async () => {
    setBusy(true)
    setProblem('')
    try {
      await onConfirm()
      onClose()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      setBusy(false)
    }
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={css.backdrop} />
        <Dialog.Popup className={css.dialog}>
          <Dialog.Title>{title}</Dialog.Title>
          {children}
          {problem && <p role="alert" className={css.wrong}>{problem}</p>}
          <p className={css.actions}>
            <button className={isDangerous ? css.danger : css.primary} disabled={isBusy} onClick={() => void confirm()}>{does}</button>
            <Dialog.Close>Cancel</Dialog.Close>
          </p>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
