/**
 * Checks the version of Node and prints one line if it is too old. npm's scripts start with
 * `node bin/need-node.js && node FILE.ts`, so that an old Node prints this line instead of failing on TypeScript. This
 * file is plain JavaScript for the same reason.
 */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const majorNeeded = 26

export const isOldNode = Number.parseInt(process.versions.node, 10) < majorNeeded

export function refuseOldNode() {
  console.error(
    `tidemark: this is Node ${process.versions.node}, and Tidemark runs on Node ${majorNeeded}, which npm installs. If npm's scripts are switched off, run: npm rebuild node --ignore-scripts=false`,
  )
  process.exitCode = 1
}

if (isOldNode && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))) refuseOldNode()
