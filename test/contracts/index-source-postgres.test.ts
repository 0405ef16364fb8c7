import { checkIndexSource } from './index-source.ts'
import { openPostgres } from './postgres-fixture.ts'

checkIndexSource(
  'postgres',
  async () => {
    const store = await openPostgres()
    return { source: store.indexSource, content: store.content, operator: store.operator, close: () => store.close() }
  },
  5,
)
