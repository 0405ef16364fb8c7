/**
 * Stored terms only fit queries that are analysed in the same way, so an index with terms of another version must be
 * rebuilt. The runtime brings the Unicode tables and the dictionaries of Thai and similar scripts.
 */
export const ANALYSIS_VERSION = `6/${process.versions.icu}`
