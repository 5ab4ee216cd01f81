import { expect, test } from 'vitest'
import { passwordProblem } from './password'

test('a new password is long, new and typed twice', () => {
  expect(passwordProblem('', 'a long password', 'a long password')?.field).toBe('old_password')
  expect(passwordProblem('old', 'elevenchars', 'elevenchars')?.field).toBe('password')
  expect(passwordProblem('a long password', 'a long password', 'a long password')?.text).toMatch(/old one/)
  expect(passwordProblem('old', 'a long password', 'a long passwort')?.field).toBe('again')
  expect(passwordProblem('old', '密码密码密码密码密码密码', '密码密码密码密码密码密码')).toBeUndefined()
})
