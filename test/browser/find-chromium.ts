import { existsSync } from 'node:fs'

const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
]

/** CHROMIUM_PATH, or where Chromium usually is; null when it is not there. */
export function findChromium(): string | null {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined && named !== '') return named
  return usualPlaces.find((path) => existsSync(path)) ?? null
}
