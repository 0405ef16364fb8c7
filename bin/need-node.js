/**
 * Which Node is needed, and the one line for whoever has another. `node bin/need-node.js && node FILE.ts` says it before
 * an old Node stumbles over TypeScript: npm's scripts begin so. Plain JavaScript, for that reason.
 */
import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const majorNeeded = 26

export const isOldNode = Number.parseInt(process.versions.node, 10) < majorNeeded

export function refuseOldNode() {
  console.error(
    `tidemark: this is Node ${process.versions.node}, and Tidemark runs on Node ${majorNeeded}, which npm brings unless it is told to run no scripts: npm rebuild node --ignore-scripts=false`,
  )
  process.exitCode = 1
}

if (isOldNode && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))) refuseOldNode()
