import { spawn } from 'node:child_process'
import { getS3, throwawayS3 } from './throwaway-s3.ts'

/**
 * `npm run with-s3 -- COMMAND…` runs a command with TEST_S3_ENDPOINT set to a temporary S3 server, and its credentials
 * in the usual variables. `--is-missing` installs the server; if that is not possible, it prints what is missing and
 * exits with 0.
 */
const [command, ...args] = process.argv.slice(2)
if (command === '--is-missing') {
  const missing = getS3()
  if (missing !== null) console.log(`an S3 server cannot be started here, because there is no ${missing}`)
  process.exit(missing === null ? 1 : 0)
}
if (command === undefined) {
  console.error('usage: npm run with-s3 -- COMMAND…')
  process.exit(2)
}
const server = await throwawayS3()
const { all, reader } = server.credentials
const env = {
  ...process.env,
  TEST_S3_ENDPOINT: server.endpoint,
  AWS_ACCESS_KEY_ID: all.key,
  AWS_SECRET_ACCESS_KEY: all.secret,
  TEST_S3_READER_KEY: reader.key,
  TEST_S3_READER_SECRET: reader.secret,
}
const child = spawn(command, args, { stdio: 'inherit', env })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
const code = await new Promise<number | null>((resolve) => child.once('exit', resolve))
await server.remove()
process.exit(code ?? 1)
