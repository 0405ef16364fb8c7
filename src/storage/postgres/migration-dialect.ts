import type {
  ColumnDefinitionNode,
  KyselyPlugin,
  PluginTransformQueryArgs,
  PluginTransformResultArgs,
  QueryResult,
  RootOperationNode,
  UnknownRow,
} from 'kysely'
import { DataTypeNode, OperationNodeTransformer, RawNode, sql } from '../sql/kysely.ts'
import type { MigrationDialect } from '../sql/migrations/migration.ts'

export const postgresMigrationDialect: MigrationDialect = {
  ascendingKey: (table, column) =>
    table.addColumn(column, 'bigint', (key) => key.primaryKey().generatedByDefaultAsIdentity()) as never,
  bytes: 'bytea',
  storedByKey: (table) => table,
  forgettable: (table) => table.modifyFront(sql`unlogged`),
  async hasTable(db, name) {
    // Not by to_regclass: within a transaction it goes by what it remembers, and misses a table that another made since.
    const found = await sql`select from pg_class where relname = ${name} and pg_table_is_visible(oid)`.execute(db)
    return found.rows.length > 0
  },
}

/**
 * Text is compared by its bytes, as SQLite does it, whatever language the database was made for: the order of ids is the
 * order of time, and a cursor must mean the same place everywhere.
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
