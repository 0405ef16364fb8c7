import { readdirSync } from 'node:fs'
import { until } from '../support/until.ts'
import { freshFolder, storeOf } from './harness.ts'
import { checkRollingUpgrade } from './rolling-upgrade.ts'

checkRollingUpgrade('each process with an index of its own', false, {
  documents: 300,
  env: async () => ({ ...(await storeOf(freshFolder())), TIDEMARK_LOG_LEVEL: 'info' }),
  async oldRemoved(servers) {
    for (const { dataDir } of servers) {
      const indexes = () => readdirSync(dataDir).filter((name) => /^search-\d+\.sqlite$/.test(name))
      await until('one index is left', () => indexes().length === 1)
    }
  },
})
