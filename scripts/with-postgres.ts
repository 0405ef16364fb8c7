import { spawn } from 'node:child_process'
import { throwawayPostgres } from './throwaway-postgres.ts'

/** `npm run with-postgres -- COMMAND…` runs a command with TEST_DATABASE_URL set to a temporary PostgreSQL server. */
const [command, ...args] = process.argv.slice(2)
if (command === undefined) {
  console.error('usage: npm run with-postgres -- COMMAND…')
  process.exit(2)
}
const postgres = await throwawayPostgres({ durable: process.env.DURABLE === '1' })
const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, TEST_DATABASE_URL: postgres.url } })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
await postgres.remove()
process.exit(code ?? 1)
