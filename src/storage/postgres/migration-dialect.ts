import {
  type ColumnDefinitionNode,
  DataTypeNode,
  type KyselyPlugin,
  OperationNodeTransformer,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryResult,
  RawNode,
  type RootOperationNode,
  sql,
  type UnknownRow,
} from 'kysely'
import type { MigrationDialect } from '../sql/migrations/migration.ts'

export const postgresMigrationDialect: MigrationDialect = {
  ascendingKey: (table, column) =>
    table.addColumn(column, 'bigint', (key) => key.primaryKey().generatedByDefaultAsIdentity()) as never,
  bytes: 'bytea',
  storedByKey: (table) => table,
  forgettable: (table) => table.modifyFront(sql`unlogged`),
  async hasTable(db, name) {
    // Not to_regclass: within a transaction it uses a cache, and misses a table that another session has created since.
    const found = await sql`select from pg_class where relname = ${name} and pg_table_is_visible(oid)`.execute(db)
    return found.rows.length > 0
  },
  async skipNumbers(db, table, column, count) {
    const numbers = sql`pg_get_serial_sequence(${table}, ${column})`
    await sql`select setval(${numbers}, nextval(${numbers}) + ${count}::bigint)`.execute(db)
  },
}

/**
 * Compares text by its bytes, as SQLite does, whatever the locale of the database: the order of ids is the order of
 * time, and a cursor must mean the same position everywhere.
 */
export class TextByBytes implements KyselyPlugin {
  #transformer = new ColumnTransformer()

  transformQuery({ node }: PluginTransformQueryArgs): RootOperationNode {
    return this.#transformer.transformNode(node)
  }

  async transformResult({ result }: PluginTransformResultArgs): Promise<QueryResult<UnknownRow>> {
    return result
  }
}

class ColumnTransformer extends OperationNodeTransformer {
  protected override transformColumnDefinition(node: ColumnDefinitionNode): ColumnDefinitionNode {
    const { dataType } = node
    const isText = DataTypeNode.is(dataType) && dataType.dataType === 'text'
    return isText ? { ...node, dataType: RawNode.createWithSql('text collate "C"') } : node
  }
}
