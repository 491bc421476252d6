"""Guards on the path of durability, and what the program would be without each of them."""

from dataclasses import dataclass

WORKER = "Sources/CollectorCore/Disk/DiskWorker.swift"
RESCUE = "Sources/CollectorCore/Disk/Rescue.swift"
LEDGER = "Sources/CollectorCore/Disk/LedgerFile.swift"
RECORDS = "Sources/CollectorCore/Session/Durability/DurableRecords.swift"
FOLLOWER = "Sources/CollectorCore/Catalog/CatalogFollower.swift"
SPINE = "Sources/CollectorCore/Spine/Spine.swift"
LINK = "Sources/Wire/CollectorLink/CollectorLink.swift"
FILE = "Sources/Archive/Writing/RecordingFile.swift"
WRITER = "Sources/Archive/Writing/SegmentWriter.swift"
FINISHER = "Sources/Archive/Writing/SegmentFinisher.swift"
SURVEY = "Sources/Archive/Recovery/SegmentSurvey.swift"
SPOOL = "Sources/Spooling/SpoolRecovery.swift"
SCAN = "Sources/Spooling/SpoolScan.swift"
SOURCE = "Sources/Archive/Recovery/SourceRecovery.swift"
RECOVERY = "Sources/Archive/Recovery/ArchiveRecovery.swift"
EVICTION = "Sources/Archive/Stored/LocalCopyRemoval.swift"
PART = "Sources/Uploading/Transfer/PartSending.swift"
TRANSFER = "Sources/Uploading/Transfer/SegmentTransfer.swift"
DOCUMENTS = "Sources/Uploading/Sessions/SessionDocuments.swift"
STORED = "Sources/Uploading/Local/StoredRemoval.swift"
PROOFS = "Sources/Uploading/Local/StoredProofs.swift"
TAKEOVER = "Sources/Uploading/Local/ArchiveTakeOver.swift"
RECORD_LOG = "Sources/AgentCore/Uplink/RecordLog.swift"
CURSOR = "Sources/Wire/AgentLink/Cursor.swift"
LEASE = "Sources/Catalog/Site/Lease.swift"

COLLECTOR = "CollectorCoreTests|SimulationTests.SystemSimulationTests"
ARCHIVE = "ArchiveTests"
UPLOADING = "UploadingTests"


@dataclass(frozen=True)
class Mutant:
    """One guard that is taken out: `old` becomes `new`, and one of the tests that match `tests` turns red."""

    name: str
    path: str
    old: str
    new: str
    tests: str


MUTANTS = [
    Mutant("media is called durable before its ledger is", WORKER,
           "for id in ids where !isLedgerBehind(of: id.owner) { synchronize(id) }",
           "for id in ids { synchronize(id) }", "DiskWorkerTests"),
    Mutant("a ledger is called durable before its directory is", WORKER,
           " where !isDirectoryBehind(of: layout.ledger(source)) {", " {", COLLECTOR),
    Mutant("a file is finished before its ledger is durable", WORKER,
           "            try prepareToPersist(id.owner)\n            meter", "            meter", COLLECTOR),
    Mutant("a session ends before its files", WORKER,
           "!segments.keys.contains(where: { $0.session == session }),", "", COLLECTOR),
    Mutant("a session ends before its rescues", WORKER,
           "!rescues.keys.contains(where: { $0.session == session }),", "", COLLECTOR),
    Mutant("files are written before their session's description", WORKER,
           "if isInVain(job) || waitsForDescription(job) { return }", "if isInVain(job) { return }", COLLECTOR),
    Mutant("a job overtakes one that is stuck", WORKER,
           "        if stuck[queue] != nil {\n            stuck[queue]?.jobs.append(job)\n            return\n        }\n", "",
           COLLECTOR),
    Mutant("what builds on a lost file is written", RESCUE,
           "            guard rescues[id.owner] != nil else { return false }\n", "            return false\n", COLLECTOR),
    Mutant("a file that lost pages is called durable", RESCUE,
           "if segments[id]?.writer.hasLostPages == false {", "if true {", COLLECTOR),
    Mutant("lines that an fdatasync lost are not written again", LEDGER,
           "    func synchronize() throws(ArchiveError) -> [PersistedRecords] {\n        try writeAnew()\n",
           "    func synchronize() throws(ArchiveError) -> [PersistedRecords] {\n", COLLECTOR),
    Mutant("an fdatasync that failed counts when it is tried again", FILE,
           "                hasLostPages = true\n", "", COLLECTOR + "|" + ARCHIVE),
    Mutant("a torn append stays in the file", FILE, "                takeBack()\n", "", COLLECTOR + "|" + ARCHIVE),
    Mutant("a file has its name before it is durable", WRITER,
           "            try file.synchronize()\n            try file.rename(to: path)", "            try file.rename(to: path)",
           COLLECTOR + "|" + ARCHIVE),
    Mutant("a file is called finished before its index is durable", FINISHER,
           "        try file.append(finish.movie)\n        try file.synchronize()\n", "        try file.append(finish.movie)\n",
           COLLECTOR + "|" + ARCHIVE),
    Mutant("records count as durable in spite of holes", RECORDS,
           "return watermark > before ? watermark : nil", "return spool.durable.highest", COLLECTOR),
    Mutant("what is on disk already is recorded again", RECORDS,
           "        guard samples.firstSequence <= archived.sequences.highest else {",
           "        guard samples.firstSequence < 1 else {", COLLECTOR),
    Mutant("an agent hears of more than was taken in", LINK,
           "let persisted = min(entry.received, durable.persisted(source, entry.spool))",
           "let persisted = durable.persisted(source, entry.spool)", "WireTests|SystemSimulationTests"),
    Mutant("a fragment of another file goes on", SURVEY, "guard record.chain == chain else {",
           "guard record.chain == chain || true else {", ARCHIVE),
    Mutant("a fragment calls durable what is not", WRITER, "durableBytes: durableBytes, pieces",
           "durableBytes: sizeBytes, pieces", ARCHIVE),
    Mutant("the last fragment's word on what is durable is taken", SURVEY, "fragments.dropLast().last?.durableBytes",
           "fragments.last?.durableBytes", ARCHIVE),
    Mutant("what was in memory only is taken for what is on the disk", SURVEY, "        readAnew(end)\n",
           "        readAnew(source.sizeBytes)\n", COLLECTOR + "|" + ARCHIVE),
    Mutant("another file's checkpoint is believed", SURVEY, "                == summary.chain\n        else { return false }",
           "                != .zero\n        else { return false }", ARCHIVE),
    Mutant("records behind a hole are summed up", SOURCE,
           "guard quick.checkpoint.isEmpty || quick.isSummarisedDurable else {",
           "guard quick.checkpoint.isEmpty || quick.isSummarisedDurable || true else {", ARCHIVE),
    Mutant("a damaged spool file is taken for another one's", SPOOL,
           "spool?.identity ?? header.identity == header.identity,", "", "SpoolingTests"),
    Mutant("a slow listener is not told of its loss", SPINE,
           "heard.lost.add(event.session)", "_ = event.session", "SpineTests|CatalogFollowerTests"),
    Mutant("the catalog does not read again what it has missed", FOLLOWER,
           "        stale.formUnion(heard.lost)\n", "", "CatalogFollowerTests|nothing waits for the catalog"),
    Mutant("a catalog that cannot be written is believed", FOLLOWER,
           "lose(error, pause: Self.firstPause, now: now, &reports)", "unlockDue = now", "CatalogFollowerTests"),
    Mutant("a copy goes that the store has otherwise", STORED,
           "guard object.sizeBytes == proof.sizeBytes, EntityTag.isSame(object.tag, proof.tag) else {",
           "guard object.sizeBytes >= 0 else {", UPLOADING),
    Mutant("a copy goes whose proof the store has lost", STORED,
           "guard let evidence, evidence.sizeBytes > 0 else {", "guard evidence?.sizeBytes != 0 else {", UPLOADING),
    Mutant("a copy goes that is not the file of its proof", EVICTION,
           "guard proof.describes(stamp) else { return .changed }",
           "guard stamp.sizeBytes >= 0 else { return .changed }", UPLOADING),
    Mutant("another archive's session is replaced in the store", DOCUMENTS,
           "guard let found, found != identity else { return }",
           "guard let found, found != identity, session.isEmpty else { return }", UPLOADING),
    Mutant("what the store has is sent again", TRANSFER,
           "if found.sizeBytes == sizeBytes, isSmall || isSameContent, mismatches == 0 {",
           "if found.sizeBytes == sizeBytes, isSmall, mismatches == 0 {", UPLOADING),
    Mutant("parts that the store has are sent again", PART,
           "if let known, known.holds(bytes, digest: digest) {", "if let known, known.number > 10_000 {", UPLOADING),
    Mutant("records of moved segments are forgotten", SOURCE, "        readMoved(moved)\n", "", ARCHIVE),
    Mutant("agents forget what is durable and not in the store", RECORDS,
           "guard policy.waitsForStore else { return nil }", "guard policy.waitsForStore, source.isEmpty else { return nil }",
           "DurableRecordsTests"),
    Mutant("an agent does not go back to what another collector lacks", CURSOR,
           "if start < persisted || lacksRecords(", "if lacksRecords(", "ReleaseTests"),
    Mutant("a gap stays as short as another collector wanted it", CURSOR,
           " || lacksRecords(after: start, received: state.received)", "", "ReleaseTests"),
    Mutant("a full spool makes gaps of what the collector has", RECORD_LOG,
           "            if let change = forgetOldest(allowance) { return change }\n", "", "AgentCoreTests"),
    Mutant("samples behind a gap are announced with the newest formats", "Sources/Spooling/SpoolContents.swift",
           "preamble: next.flatMap { readablePreamble(of: $0, generation) })",
           "preamble: next.flatMap { _ in nil })", "AgentCoreTests"),
    Mutant("what a destroyed disk had is believed", SOURCE, "return entries[first...]", "return entries[...]", UPLOADING),
    Mutant("what earlier sessions had on a destroyed disk is believed", SOURCE,
           "$0.offset >= ownEntries.startIndex || $0.element.kind != .earlier", "$0.offset >= 0", UPLOADING),
    Mutant("a proof without its object is believed", PROOFS,
           "sizes[segment.description] == proof.sizeBytes", "proof.sizeBytes >= 0", UPLOADING),
    Mutant("a proof is about an object that has replaced the proven one", PROOFS,
           "guard EntityTag.isSame(proof.tag, tag) else { throw mismatch }", "", UPLOADING),
    Mutant("a proof's word on earlier records is believed without bound", "Sources/Uploading/Local/StoredSource.swift",
           "min(number, highest[spool] ?? 0)", "number", UPLOADING),
    Mutant("an interrupted take-over counts as done", TAKEOVER,
           "        if FileSystem.exists(mark(layout)) { return true }\n", "", UPLOADING),
    Mutant("a session that is incomplete in the bucket stays finished", TAKEOVER,
           "if manifest.state == .finished, isIncomplete {", "if manifest.state == .finished, isIncomplete, !isNewest {",
           UPLOADING),
    Mutant("what is done without the store says that it can be used", "Sources/Uploading/Scheduling/UploadQueue.swift",
           "let line = hasAnswer ? storeAnswered(work) : nil\n        endAttempt(work)\n        end(",
           "let line = storeAnswered(work)\n        endAttempt(work)\n        end(", UPLOADING),
    Mutant("an answer to a request from before an outage ends it", "Sources/Uploading/Scheduling/UploadQueue.swift",
           "guard let outage, outage.attempt == work else { return nil }", "guard outage != nil else { return nil }", UPLOADING),
    Mutant("of sources that are recovered side by side the first is forgotten", RECOVERY,
           "return tasks.indices.compactMap { results[$0] }", "return tasks.indices.dropFirst().compactMap { results[$0] }",
           ARCHIVE),
    Mutant("sources that are recovered side by side are told in the order of their end", RECOVERY,
           "return tasks.indices.compactMap { results[$0] }", "return Array(results.values)", ARCHIVE),
    Mutant("what was on its way beside a failed part is sent again", "Sources/Uploading/Transfer/SegmentUpload.swift",
           "defer { for sent in parts.waitForAll() { transfer.sentAhead(sent) } }", "defer { _ = parts.waitForAll() }", UPLOADING),
    Mutant("a part that takes long holds up the next", "Sources/Uploading/Transfer/SegmentUpload.swift",
           "where !parts.contains(index) {", "where !parts.contains(index) && part % 3 == 0 {", UPLOADING),
    Mutant("agents meet at fewer instants as soon as less comes", "Sources/Wire/CollectorLink/SendInstants.swift",
           "if most > count || needed.count == Self.calmWindows { count = most }", "count = needed.last ?? most", "WireTests"),
    Mutant("an instant that was chosen is as far away as another number of them makes it", "Sources/Wire/AgentLink/SendSchedule.swift",
           "if dueNanoseconds == nil {", "if dueNanoseconds != 0 {", "WireTests"),
    Mutant("a fragment may take all of its source's credit", "Sources/CollectorCore/CollectorEngine.swift",
           "roomBytes: Int(window / 2)", "roomBytes: Int.max", "CollectorCoreTests"),
    Mutant("what waits for the disk holds a source's credit back", "Sources/CollectorCore/CollectorEngine.swift",
           "if credit.leftBytes < max(next, window / 4) {", "if credit.leftBytes < min(next, 0) {", "CollectorCoreTests"),
    Mutant("large records stand still with credit that does not suffice", "Sources/CollectorCore/CollectorEngine.swift",
           "if credit.leftBytes < max(next, window / 4) {", "if credit.leftBytes < max(next / 64, window / 4) {", "CollectorCoreTests"),
    Mutant("an idle fragment is judged without what waits", "Sources/CollectorCore/Session/SessionRecorder.swift",
           "let heard = heard ?? now", "let heard = now", "CollectorCoreTests"),
    Mutant("headers do not count in what waits", "Sources/CollectorCore/Receiving/AgentMessage.swift",
           "message.header.count + (message.payload?.count ?? 0)", "message.payload?.count ?? 0", "CollectorCoreTests"),
    Mutant("a closed connection overtakes what it has sent", "Sources/CollectorCore/Receiving/AgentMessage.swift",
           "        events.append(.gone(peer))", "        events.insert(.gone(peer), at: 0)", "CollectorCoreTests"),
    Mutant("send instants are counted over parts of batches", "Sources/Wire/CollectorLink/SendInstants.swift",
           "let mayEnd = hasNews || bytes == 0", "let mayEnd = true", "WireTests"),
    Mutant("a late answer about another session is believed", "Sources/CollectorCore/Site/SessionAgreement.swift",
           "        case .waiting(let ticket, _):\n            guard answered == ticket else { return .ignored }\n",
           "        case .waiting:\n", "CollectorCoreTests"),
    Mutant("of two sessions that were begun at once each goes on", "Sources/Catalog/Site/SiteProposal.swift",
           "open.min(by: { $0.number < $1.number })", "open.max(by: { $0.number < $1.number })", "CollectorCoreTests"),
    Mutant("a session that was stopped here is the next one's whole", "Sources/CollectorCore/Session/SessionRecorder.swift",
           "guard !stoppedSessions.contains(answer.session.session) else { return nil }\n", "", "CollectorCoreTests"),
    Mutant("a part lies on the other side of its whole's zero", "Sources/Recordings/Merging/SessionAttachments.swift",
           "(0 as Int64).clampedSubtracting(edge.offsetNanoseconds)", "edge.offsetNanoseconds", "LibraryTests"),
    Mutant("a lease is used before another holder has stopped", LEASE,
           "settlesNanoseconds: now + Self.termNanoseconds,", "settlesNanoseconds: now,", "LeaseTests"),
    Mutant("a lease's term counts from its answer", LEASE,
           "let ends = request.sentNanoseconds + Self.termNanoseconds - Self.marginNanoseconds",
           "let ends = now + Self.termNanoseconds", "LeaseTests"),
    Mutant("a lease goes on though it has ended meanwhile", LEASE,
           "if let grant, grant.token == token, now < grant.endsNanoseconds {",
           "if let grant, grant.token == token {", "LeaseTests"),
    Mutant("a lease goes on though another process had it meanwhile", LEASE,
           "if let grant, grant.token == token, now < grant.endsNanoseconds {",
           "if let grant, now < grant.endsNanoseconds {", "LeaseTests"),
    Mutant("objects leave the store without the right to remove", "Sources/Uploading/UploadTarget.swift",
           "        guard surroundings.mayRemove() else { throw .notEntitled }\n", "", UPLOADING),
    Mutant("an answer of before a source came back says where it is", "Sources/CollectorCore/Status/SourceLocations.swift",
           "if let opened = openedNanoseconds[source], answer.nanoseconds <= opened { continue }", "", "CollectorCoreTests"),
]
