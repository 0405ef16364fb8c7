/** The metrics of a process at `/metrics`. */
export interface Scrape {
  /** By name. */
  readonly types: ReadonlyMap<string, string>
  /** By series as it is written: name and labels. */
  readonly samples: ReadonlyMap<string, number>
}

export function readScrape(text: string): Scrape {
  const types = new Map<string, string>()
  const samples = new Map<string, number>()
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\S+) (\S+)$/.exec(line)
    if (type !== null) types.set(type[1]!, type[2]!)
    const sample = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line)
    if (sample !== null) samples.set(sample[1]!, Number(sample[2]))
  }
  return { types, samples }
}

/** Removes the suffixes of the parts of a histogram. */
export const seriesName = (sample: string): string =>
  sample.replace(/\{.*/, '').replace(/(?<=_(?:seconds|events))_(?:bucket|sum|count)$/, '')

export const labelsOf = (sample: string): string[] =>
  [...sample.matchAll(/([a-z_]+)="/g)].map(([, label]) => label!).filter((label) => label !== 'le')
