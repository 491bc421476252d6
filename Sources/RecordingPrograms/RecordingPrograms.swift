// Depends on the programs that record and read: agent, collector and tool. None of them needs a server package.
