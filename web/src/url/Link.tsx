import { type AnchorHTMLAttributes, type MouseEvent, type ReactNode, type Ref } from 'react'
import { keeping, visit } from './location'

type Props = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> & { to: string; children: ReactNode; ref?: Ref<HTMLAnchorElement> }

/** A link to a page of Weir. With a modifier key, it opens as any link does. */
export function Link({ to, onClick, ...rest }: Props) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    visit(to)
  }
  return <a {...rest} href={keeping(to)} onClick={follow} />
}
