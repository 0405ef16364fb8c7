import { spawn } from 'node:child_process'

const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Shows an address in the browser that the desktop prefers. Gives why that could not be, or null when it could. */
export function openInBrowser(address: string): Promise<string | null> {
  const [command, ...before] = commands[process.platform] ?? ['xdg-open']
  return new Promise((resolve) => {
    const child = spawn(command, [...before, address], { stdio: 'ignore', detached: true })
    child.once('error', (error) => resolve(`${command} failed to start: ${error.message}`))
    child.once('spawn', () => {
      child.unref()
      resolve(null)
    })
  })
}
