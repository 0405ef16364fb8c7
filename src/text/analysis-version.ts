/**
 * Stored terms are only good for queries analysed in the same way: an index that holds terms of another version is to
 * be rebuilt. The Unicode tables and the dictionaries of Thai and its neighbours come with the runtime.
 */
export const ANALYSIS_VERSION = `6/${process.versions.icu}`
