"""Before any data: how many records, how much noise, how close to the limit. Nothing here touches a table of people."""
