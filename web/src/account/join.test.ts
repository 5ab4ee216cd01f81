import { expect, test } from 'vitest'
import { isEngineName, joinCommand } from './join'

test('makes a command that a shell takes as it is meant', () => {
  expect(joinCommand('lb.example.com', '9444', 'weir1.a.b', '')).toBe('weir agent --controller lb.example.com:9444 --token weir1.a.b')
  expect(joinCommand('2001:db8::1', '9444', 't', 'engine 1')).toBe("weir agent --controller '[2001:db8::1]:9444' --token t --name 'engine 1'")
  expect(joinCommand('h', '1', 't', "a'; reboot #")).toBe("weir agent --controller h:1 --token t --name 'a'\\''; reboot #'")
})

test('an engine has the name of a host', () => {
  expect(['', 'edge-1.example', "ann's engine", '-x', 'x-'].map(isEngineName)).toEqual([true, true, false, false, false])
})
