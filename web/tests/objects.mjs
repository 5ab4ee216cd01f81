// What flows that change objects have beside the stage: the API, the fields of a form, the bar of the last change.
import { expectRefusals, page } from './stage.mjs'

expectRefusals(/status of (400|401|403|404|409|412|419)/)

/** Asks the API in the name of the user, past the pages. */
export function api(method, path, body, headers = {}) {
  return page.evaluate(
    async ([method, path, body, headers]) => {
      const csrf = document.cookie.split('; ').find((pair) => pair.startsWith('csrftoken='))?.slice('csrftoken='.length)
      const answer = await fetch(path, {
        method,
        headers: { 'X-Avi-Version': '30.2.1', 'X-CSRFToken': csrf ?? '', 'Content-Type': 'application/json', ...headers },
        ...(body ? { body: JSON.stringify(body) } : {}),
      })
      const text = await answer.text()
      return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : text }
    },
    [method, path, body, headers],
  )
}

export const named = async (kind, name) => (await api('GET', `/api/${kind}?name=${encodeURIComponent(name)}`)).body.results[0]
export const field = (path) => page.locator(`[data-field="${path}"]`)
export const bar = page.getByRole('region', { name: 'Last change' })
export const save = () => page.getByRole('button', { name: 'Save', exact: true }).click()
export const saved = (text) => bar.filter({ hasText: text }).getByText('saved', { exact: true }).waitFor()
