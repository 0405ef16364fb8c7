/** Which methods a path answers to, for 405 with `Allow`. Fastify's router knows only method and path together. */
export class RouteTable {
  #routes: { pattern: RegExp; methods: Set<string> }[] = []
  #bySource = new Map<string, Set<string>>()

  add(url: string, method: string | string[]): void {
    let methods = this.#bySource.get(url)
    if (methods === undefined) {
      methods = new Set()
      this.#bySource.set(url, methods)
      const source = url
        .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
        .replace(/:[A-Za-z_]+/g, '[^/]+')
        .replace(/\*/g, '.*')
      this.#routes.push({ pattern: new RegExp(`^${source}$`), methods })
    }
    for (const one of [method].flat()) methods.add(one)
  }

  methodsFor(path: string): readonly string[] {
    const found = new Set<string>()
    for (const { pattern, methods } of this.#routes) if (pattern.test(path)) for (const one of methods) found.add(one)
    return [...found].sort()
  }
}
