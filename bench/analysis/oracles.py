"""Adjusted mutual information of clusters with known classes: ours, and those of leidenalg and scikit-learn.

make SET VECTORS CLASSES            writes a generated mixture
compare SET VECTORS CLASSES FOUND   prints a line for each method
"""
import json
import sys

import igraph
import leidenalg
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_mutual_info_score

SMALLEST = 5


def mixture(spread, seed, points=2000, topics=30, anywhere=0.2, dimensions=384):
    draw = np.random.default_rng(seed)
    sizes = draw.dirichlet(np.ones(topics) * 1.5) * points * (1 - anywhere)
    base = draw.normal(size=dimensions)
    rows, classes = [], []
    for topic, size in enumerate(sizes):
        size = max(8, int(size))
        rows.append(base + draw.normal(size=dimensions) + draw.normal(size=(size, dimensions)) * spread)
        classes += [topic] * size
    alone = int(points * anywhere)
    rows.append(base + draw.normal(size=(alone, dimensions)) * np.sqrt(1 + spread**2))
    classes += [-1] * alone
    vectors = np.vstack(rows)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), classes


def leiden(vectors, k, is_mutual, resolution=1.0):
    similarities = vectors @ vectors.T
    np.fill_diagonal(similarities, -2)
    nearest = np.argsort(-similarities, axis=1)[:, :k]
    sets = [set(row) for row in nearest]
    edges = {}
    for node, row in enumerate(nearest):
        for other in row:
            if is_mutual and node not in sets[other]:
                continue
            pair = (min(node, other), max(node, other))
            shared = (len(sets[node] & sets[other]) + 1) / k
            edges[pair] = shared if is_mutual else max(0, float(similarities[node, other]))
    graph = igraph.Graph(len(vectors), list(edges))
    found = leidenalg.find_partition(
        graph, leidenalg.RBConfigurationVertexPartition, weights=list(edges.values()),
        resolution_parameter=resolution, seed=1, n_iterations=-1,
    ).membership
    found = np.array(found)
    return np.where(np.bincount(found)[found] >= SMALLEST, found, -1)


def hdbscan(vectors, min_samples):
    distances = np.clip(1 - vectors @ vectors.T, 0, 2).astype(float)
    return HDBSCAN(min_cluster_size=SMALLEST, min_samples=min_samples, metric="precomputed", copy=True).fit(distances).labels_


def say(name, found, classes):
    found = np.array(found)
    score = adjusted_mutual_info_score(classes, found)
    print(f"{name:<32} AMI {score:.3f}  {len(set(found[found >= 0]))} clusters, {np.mean(found < 0):.2f} in none")


def main(what, name, vectors_path, classes_path, found_path=None):
    if what == "make":
        vectors, classes = mixture(*{"wide": (1.0, 1), "narrow": (0.6, 2)}[name])
        vectors.tofile(vectors_path)
        json.dump(classes, open(classes_path, "w"))
        return
    classes = json.load(open(classes_path))
    vectors = np.fromfile(vectors_path, dtype=np.float32).reshape(len(classes), -1)
    numbers = {}
    ours = [-1 if one is None else numbers.setdefault(one, len(numbers)) for one in json.load(open(found_path))]
    print(f"{name}: {len(classes)} vectors, {len(set(classes))} classes")
    say("ours", ours, classes)
    say("leidenalg, mutual 10, shared", leiden(vectors, 10, True), classes)
    say("leidenalg, all 10, similarity", leiden(vectors, 10, False), classes)
    say("leidenalg, mutual 30, shared", leiden(vectors, 30, True), classes)
    say("HDBSCAN, min_samples 1", hdbscan(vectors, 1), classes)
    say("HDBSCAN, min_samples 5", hdbscan(vectors, 5), classes)


main(*sys.argv[1:])
