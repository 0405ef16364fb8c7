import { existsSync } from 'node:fs'

const usualPaths = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** Returns CHROMIUM_PATH, or the usual path where Chromium is installed; null if it is not installed. */
export function findChromium(): string | null {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && named !== '') return named
  return usualPaths.find((path) => existsSync(path)) ?? null
}
