import { checkHistoryStore } from './history-store.ts'
import { openPostgres } from './postgres-fixture.ts'

checkHistoryStore('postgres', openPostgres)
