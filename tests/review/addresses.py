"""All addresses of the review server, by method."""

GET = [
    "/",
    "/static/index.html",
    "/api/collection",
    "/api/pictures",
    "/api/pictures/0",
    "/api/rows",
    "/api/filters",
    "/api/why",
    "/api/tags",
    "/api/tags/0",
    "/api/suspected-errors",
    "/api/to-annotate",
    "/api/thresholds",
    "/api/check",
    "/api/changes",
    "/api/learn",
    "/thumb/0",
    "/picture/0",
]
POST = [
    "/api/decide",
    "/api/threshold",
    "/api/check",
    "/api/answer",
    "/api/undo",
    "/api/redo",
    "/api/learn",
]
