import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RouteTable } from './route-table.ts'

test('the methods of a path, also if several patterns match', () => {
  const table = new RouteTable()
  table.add('/v1/documents/:document_id', 'GET')
  table.add('/v1/documents/:document_id', ['HEAD'])
  table.add('/v1/documents/batch-get', 'POST')
  table.add('/openapi.json', 'GET')
  assert.deepEqual(table.methodsFor('/v1/documents/doc_1'), ['GET', 'HEAD'])
  assert.deepEqual(table.methodsFor('/v1/documents/batch-get'), ['GET', 'HEAD', 'POST'])
  assert.deepEqual(table.methodsFor('/v1/documents'), [])
  assert.deepEqual(table.methodsFor('/v1/documents/a/b'), [])
  assert.deepEqual(table.methodsFor('/openapixjson'), [])
})
