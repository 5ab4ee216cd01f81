// Runs before the first paint, so that a page does not flash in the wrong theme.
try {
  const theme = localStorage.getItem('theme')
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
} catch {
  // Without storage, the theme is that of the system.
}
