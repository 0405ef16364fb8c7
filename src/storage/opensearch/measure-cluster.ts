import type { Measures } from '../../platform/measures.ts'
import type { Cluster } from './cluster.ts'
import { disksPastWatermarks } from './disk-watermarks.ts'
import { readClusterHealth } from './report-health.ts'

const measureMs = 2000
const statuses = ['green', 'yellow', 'red'] as const

/** Registers metrics of the cluster's health for the indexes of this instance, and of the disks of its nodes. */
export function measureCluster(cluster: Cluster, prefix: string, measures: Measures): void {
  measures.gauges(
    {
      tidemark_cluster_status: { help: '1 for the status of the search indexes in the cluster.', labels: ['status'] },
      tidemark_cluster_has_manager: '1 if the node that answered has a cluster manager, otherwise 0.',
      tidemark_cluster_nodes: 'Nodes of the cluster.',
      tidemark_cluster_shards: { help: 'Shards of the search indexes, replicas included.', labels: ['state'] },
    },
    async () => {
      const health = await readClusterHealth(cluster, `${prefix}-*`, measureMs)
      return {
        tidemark_cluster_has_manager: Number(health.discovered_cluster_manager !== false),
        tidemark_cluster_status: statuses.map((status) => ({
          labels: { status },
          value: Number(status === health.status),
        })),
        tidemark_cluster_nodes: health.number_of_nodes,
        tidemark_cluster_shards: (['active', 'initializing', 'relocating', 'unassigned'] as const).map((state) => ({
          labels: { state },
          value: health[`${state}_shards`],
        })),
      }
    },
  )
  // Separate gauges, because no node answers this request without a cluster manager.
  measures.gauges(
    {
      tidemark_cluster_disks_past_watermark: {
        help: 'Nodes of the cluster whose disk has exceeded a watermark.',
        labels: ['watermark'],
      },
    },
    async () => {
      const disks = await disksPastWatermarks(cluster, measureMs)
      const past = (watermark: string): number => disks.filter((disk) => disk.watermarks.includes(watermark)).length
      return {
        tidemark_cluster_disks_past_watermark: ['low', 'high', 'flood_stage'].map((watermark) => ({
          labels: { watermark },
          value: past(watermark),
        })),
      }
    },
  )
}
