"""A registry of a few sets whose files a test can write in a line."""

import hashlib

from written import TINY

TEXT = """
[origins.site]
page = "https://example.org/data.html"
url = "http://127.0.0.1:1/data/"

[sets.tiny]
title = "Tiny, sparse text"
origin = "site"
aliases = ["Tiny Set"]
licence = "CC0"
features = 3
classes = [-1, 1]
positive = 1
train = [{ name = "tiny", rows = 4, sha256 = "TINY" }]
test = [{ name = "tiny.t", rows = 2 }]

[sets.halves]
title = "One file or two"
origin = "site"
features = 2
classes = [0, 1]
train = [{ name = "whole", rows = 8, packed = "xz" }]
[[sets.halves.alternatives]]
train = [{ name = "first", rows = 4 }, { name = "second", rows = 4 }]

[sets.table]
title = "A table with words and gaps"
page = "https://example.org/table"
features = 2
classes = ["no", "yes"]
positive = "yes"
layout = { format = "csv", header = 1, drop = [0], missing = "?" }
train = [{ name = "table.csv", also = ["other.csv"], rows = 8, url = "" }]

[sets.pictures]
title = "Pictures"
origin = "site"
features = 4
classes = [0, 1, 2]
layout = { format = "idx" }
train = [{ name = "images", rows = 3, labels = { name = "labels", rows = 3 } }]
test = [{ name = "t-images", rows = 3, labels = { name = "t-labels", rows = 3 } }]

[sets.pictures-0]
title = "Pictures, 0 against the rest"
base = "pictures"
binarise = [0]

[sets.counted]
title = "Pictures, 0 against the rest, known by its count"
base = "pictures"
binarise = [0]
positive_rows = 2
[[sets.counted.alternatives]]
classes = [1, 2]
train = [{ name = "two-labels", rows = 6 }]

[sets.unsampled]
title = "A test file that may be missing"
origin = "site"
features = 1
classes = [0, 1]
train = [{ name = "rows", rows = 10 }]
test = [{ name = "rows.t", rows = 5 }]
test_optional = "the test file is not available"

[sets.sorted]
title = "Sorted by class"
origin = "site"
features = 1
classes = [0, 1]
row_order = "fixed random"
train = [{ name = "sorted", rows = 8 }]

[sets.zipped]
title = "Inside a zip file"
page = "https://example.org/zipped"
features = 2
classes = [0, 1]
layout = { format = "csv" }
train = [
    { name = "inside.csv", rows = 8, url = "http://127.0.0.1:1/data/all.zip", member = "in.csv" },
]

[sets.onesided]
title = "Sorted by class, in the order of the file"
origin = "site"
features = 1
classes = [0, 1]
train = [{ name = "onesided", rows = 8 }]

[sets.made]
title = "Two moons"
generator = "two_moons"
train_rows = 20
test_rows = 10
features = 2
classes = [-1, 1]

[papers.tiny-paper]
table = "tiny-t1"
split = "site"
train = 0.6
site_without_test = "first rows"
[papers.tiny-paper.sets]
tiny = { row = "tiny", split = "printed", train_rows = 3 }
sorted = { row = "sorted", split = "printed", train_rows = 4, test_rows = 2 }
halves = { split = "shuffled", columns = 1 }
unsampled = { row = "unsampled", split = "site" }
onesided = { row = "onesided", split = "printed", train_rows = 4, test_rows = 2 }
""".replace("TINY", hashlib.sha256(TINY.encode()).hexdigest())
