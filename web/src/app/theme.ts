import { useState } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const name = 'theme' // theme.js reads it before the first paint

function stored(): Theme {
  const theme = document.documentElement.dataset['theme']
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

export function nextTheme(theme: Theme): Theme {
  return theme === 'system' ? 'dark' : theme === 'dark' ? 'light' : 'system'
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored)
  return [
    theme,
    (next) => {
      if (next === 'system') delete document.documentElement.dataset['theme']
      else document.documentElement.dataset['theme'] = next
      try {
        window.localStorage.setItem(name, next)
      } catch {
        // Without storage, the choice holds until the page is loaded again.
      }
      setTheme(next)
    },
  ]
}
