import { checkChangeLog } from './change-log.ts'
import { checkContentStore } from './content-store.ts'
import { openPostgres } from './postgres-fixture.ts'

checkContentStore('postgres', openPostgres, 10)
checkChangeLog('postgres', openPostgres, 200)
