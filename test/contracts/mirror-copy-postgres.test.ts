import { PostgresCopy } from '../../src/mirror/postgres-copy.ts'
import { freshDatabase } from '../support/fresh-database.ts'
import { inDatabase } from '../support/in-database.ts'
import { checkMirrorCopy } from './mirror-copy.ts'

/** One database for all: to make one costs more than all else here. */
let database: Promise<string> | undefined

checkMirrorCopy(
  'PostgreSQL',
  async () => {
    database ??= freshDatabase().then(({ url }) => url)
    const url = await database
    return {
      open: () => PostgresCopy.open(url),
      remove: async () => void (await inDatabase(url, 'drop schema tidemark_mirror cascade')),
    }
  },
  15,
)
