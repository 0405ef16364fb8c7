/**
 * Checks that generated clients work: generates one from the API description of a running server, compiles it, and
 * calls the server with it. Generators and compilers have fixed versions and are downloaded to a temporary folder.
 *
 *   npx node scripts/check-clients.ts                     TypeScript: openapi-typescript and openapi-fetch
 *   npx node scripts/check-clients.ts python java         also openapi-python-client (PyPI) and openapi-generator (Maven)
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startServer, type TestServer } from '../test/acceptance/harness.ts'
import { until } from '../test/support/until.ts'

const versions = {
  'openapi-typescript': '7.13.0',
  'openapi-fetch': '0.17.0',
  typescript: '5.9.3',
  'openapi-python-client': '0.29.1',
  'openapi-generator-maven-plugin': '7.17.0',
} as const

/** Every client makes a search and reads a page of the feed, a document, and an error. */
const clients: Readonly<Record<string, (run: Run) => void>> = { typescript, python, java }

interface Run {
  readonly folder: string
  readonly address: string
  readonly key: string
}

const requested = ['typescript', ...process.argv.slice(2)]
const unknown = requested.find((name) => !(name in clients))
if (unknown !== undefined) throw new Error(`unknown client ${unknown}: use ${Object.keys(clients).join(', ')}`)

const server = await startServer()
const key = await fill(server)
const folder = mkdtempSync(join(tmpdir(), 'tidemark-clients-'))
try {
  for (const name of requested) {
    const own = join(folder, name)
    const { text } = await server.call('GET', '/openapi.json')
    write(own, 'openapi.json', text)
    clients[name]!({ folder: own, address: server.address, key })
    console.log(`${name}: the client compiles, and its calls succeed`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
  await server.stop()
}

async function fill(server: TestServer): Promise<string> {
  await server.makeDataset('news')
  const { key } = await server.makeApplication({ entitlements: [{ datasets: ['news'] }] })
  const { key: collector } = await server.makeCollector()
  const document = {
    dataset_id: 'news',
    source_platform: 'rss',
    external_id: 'a-1',
    title: 'Tidal power',
    body: 'Soon.',
  }
  await server.collector(collector, 'POST', '/collector/v1/documents', { documents: [document] })
  await until('the document is searchable', async () => {
    const { body } = await server.consumer(key, 'POST', '/v1/search/keyword', { query: 'tidal' })
    return body.results.length === 1
  })
  return key
}

function write(folder: string, name: string, text: string): void {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Shows the output of a command only if it fails. */
function run(folder: string, command: string, ...args: string[]): void {
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${error ?? ''}${stdout}${stderr}`)
}

function typescript({ folder, address, key }: Run): void {
  const { typescript, 'openapi-typescript': generator, 'openapi-fetch': fetcher } = versions
  const dependencies = { typescript, 'openapi-typescript': generator, 'openapi-fetch': fetcher }
  write(folder, 'package.json', JSON.stringify({ type: 'module', private: true, dependencies }))
  write(
    folder,
    'calls.ts',
    `import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

const client = createClient<paths>({
  baseUrl: ${JSON.stringify(address)},
  headers: { authorization: 'Bearer ${key}' },
  querySerializer: { array: { style: 'form', explode: false } },
})
const expect = (what: string, holds: boolean): void => {
  if (!holds) throw new Error(what)
}
const request: components['schemas']['SearchRequest'] = { query: 'tidal power', mode: 'keyword', limit: 5 }
const search = await client.POST('/v1/search', { body: request })
const result: components['schemas']['SearchResult'] | undefined = search.data?.results[0]
expect('a search finds the document', result?.title === 'Tidal power')
const changes = await client.GET('/v1/changes', {
  params: { query: { limit: 10, event_type: ['document.created', 'document.version.created'] } },
})
const event: components['schemas']['ChangeEvent'] | undefined = changes.data?.items[0]
expect('the feed has its event', event?.event_type === 'document.created' && event.document_id === result?.document_id)
const read = await client.GET('/v1/documents/{document_id}/content', {
  params: { path: { document_id: result!.document_id } },
})
expect('its text is read', read.data?.body === 'Soon.')
const wrong = await client.POST('/v1/search/keyword', { body: { query: ' ' } })
const error: components['schemas']['Error'] | undefined = wrong.error
expect('an error has its code', wrong.response.status === 400 && error?.code === 'invalid_query')
`,
  )
  run(folder, 'npm', 'install', '--silent', '--no-audit', '--no-fund', '--ignore-scripts')
  const tool = (name: string, ...args: string[]): void =>
    run(folder, process.execPath, join('node_modules', ...name.split('/')), ...args)
  // Without the flag, every field with a default is required.
  tool('openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'api.ts', '--default-non-nullable', 'false')
  const strict = ['--noEmit', '--strict', '--target', 'esnext', '--module', 'nodenext', '--skipLibCheck']
  tool('typescript/bin/tsc', ...strict, '--allowImportingTsExtensions', 'calls.ts')
  run(folder, process.execPath, 'calls.ts')
}

function python({ folder, address, key }: Run): void {
  write(
    folder,
    'calls.py',
    `from tidemark_client import AuthenticatedClient
from tidemark_client.api.search import search_keyword
from tidemark_client.api.changes import changes_read
from tidemark_client.api.documents import documents_content
from tidemark_client.models import ChangePage, DocumentContent, Error, KeywordSearchRequest, SearchResponse

client = AuthenticatedClient(base_url="${address}", token="${key}")
found = search_keyword.sync(client=client, body=KeywordSearchRequest(query="tidal power"))
assert isinstance(found, SearchResponse) and found.results[0].title == "Tidal power", found
changes = changes_read.sync(client=client, limit=10)
assert isinstance(changes, ChangePage) and changes.items[0].document_id == found.results[0].document_id, changes
content = documents_content.sync(found.results[0].document_id, client=client)
assert isinstance(content, DocumentContent) and content.body == "Soon.", content
wrong = search_keyword.sync(client=client, body=KeywordSearchRequest(query=" "))
assert isinstance(wrong, Error) and wrong.code == "invalid_query", wrong
`,
  )
  run(folder, 'python3', '-m', 'venv', 'venv')
  const bin = (name: string): string => join(folder, 'venv', 'bin', name)
  run(folder, bin('pip'), 'install', '--quiet', `openapi-python-client==${versions['openapi-python-client']}`)
  const output = ['--meta', 'none', '--output-path', 'tidemark_client']
  run(folder, bin('openapi-python-client'), 'generate', '--path', 'openapi.json', ...output)
  run(folder, bin('python'), 'calls.py')
}

function java({ folder, address, key }: Run): void {
  write(
    folder,
    'src/main/java/Calls.java',
    `import example.tidemark.*;
import example.tidemark.api.*;
import example.tidemark.model.*;

public class Calls {
  static void expect(String what, boolean holds) {
    if (!holds) throw new IllegalStateException(what);
  }

  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri("${address}");
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer ${key}"));
    SearchApi search = new SearchApi(client);
    SearchResponse found = search.searchKeyword(new KeywordSearchRequest().query("tidal power"));
    expect("a search finds the document", "Tidal power".equals(found.getResults().get(0).getTitle()));
    String id = found.getResults().get(0).getDocumentId();
    expect("its text is read", "Soon.".equals(new DocumentsApi(client).documentsContent(id, null).getBody()));
    try {
      search.searchKeyword(new KeywordSearchRequest().query(" "));
      expect("an empty query is refused", false);
    } catch (ApiException error) {
      expect("an error has its status", error.getCode() == 400);
    }
  }
}
`,
  )
  const dependency = (group: string, artifact: string, version: string): string =>
    `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`
  write(
    folder,
    'pom.xml',
    `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>example.tidemark</groupId><artifactId>calls</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    ${dependency('com.fasterxml.jackson.core', 'jackson-databind', '2.19.2')}
    ${dependency('com.fasterxml.jackson.datatype', 'jackson-datatype-jsr310', '2.19.2')}
    ${dependency('org.openapitools', 'jackson-databind-nullable', '0.2.6')}
    ${dependency('jakarta.annotation', 'jakarta.annotation-api', '3.0.0')}
    ${dependency('org.apache.httpcomponents', 'httpmime', '4.5.14')}
  </dependencies>
  <build><plugins>
    <plugin>
      <groupId>org.openapitools</groupId><artifactId>openapi-generator-maven-plugin</artifactId>
      <version>${versions['openapi-generator-maven-plugin']}</version>
      <executions><execution><goals><goal>generate</goal></goals><configuration>
        <inputSpec>\${project.basedir}/openapi.json</inputSpec>
        <generatorName>java</generatorName><library>native</library>
        <apiPackage>example.tidemark.api</apiPackage><modelPackage>example.tidemark.model</modelPackage>
        <invokerPackage>example.tidemark</invokerPackage>
        <generateApiTests>false</generateApiTests><generateModelTests>false</generateModelTests>
        <configOptions><useJakartaEe>true</useJakartaEe><containerDefaultToNull>true</containerDefaultToNull></configOptions>
      </configuration></execution></executions>
    </plugin>
    <plugin>
      <groupId>org.codehaus.mojo</groupId><artifactId>exec-maven-plugin</artifactId><version>3.5.1</version>
      <configuration><mainClass>Calls</mainClass></configuration>
    </plugin>
  </plugins></build>
</project>
`,
  )
  run(folder, 'mvn', '--batch-mode', '--quiet', 'compile', 'exec:java')
}
