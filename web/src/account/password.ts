// What a new password has to be. The controller has a limit of its own, which may be lower. No I/O.

const shortest = 12

export interface PasswordProblem {
  field: 'old_password' | 'password' | 'again'
  text: string
}

/** What is wrong with a change of a password; undefined: nothing. */
export function passwordProblem(old: string, next: string, again: string): PasswordProblem | undefined {
  if (old === '') return { field: 'old_password', text: 'Give the password that you have now.' }
  if ([...next].length < shortest) return { field: 'password', text: `It has ${[...next].length} characters: give at least ${shortest}.` }
  if (next === old) return { field: 'password', text: 'It is the old one.' }
  return next === again ? undefined : { field: 'again', text: 'It differs from the one above.' }
}
