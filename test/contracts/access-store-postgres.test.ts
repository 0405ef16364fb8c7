import { checkAccessStore } from './access-store.ts'
import { openPostgres } from './postgres-fixture.ts'

checkAccessStore('postgres', openPostgres)
