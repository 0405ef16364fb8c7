const sheets = new Map<string, Promise<void>>()

/** Loads a stylesheet before the view that needs it is shown. `path` is relative to /assets/. */
export function loadStyles(path: string): Promise<void> {
  const known = sheets.get(path)
  if (known !== undefined) return known
  const sheet = document.createElement('link')
  sheet.rel = 'stylesheet'
  sheet.href = `/assets/${path}`
  const loading = new Promise<void>((resolve, reject) => {
    sheet.addEventListener('load', () => resolve())
    sheet.addEventListener('error', () => {
      sheet.remove()
      sheets.delete(path)
      reject(new TypeError(`${path} could not be loaded`))
    })
  })
  sheets.set(path, loading)
  document.head.append(sheet)
  return loading
}
