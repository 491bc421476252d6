import Archive
import ObjectStore
import Testing

@testable import Uploading

@Suite struct UploadQueueTests {
    private let first = SegmentKey(
        SourceKey(session: "s", source: "camera"), origin: UTCTime(nanoseconds: 0))
    private let second = SegmentKey(
        SourceKey(session: "s", source: "camera"), origin: UTCTime(nanoseconds: 10_000_000_000))

    private func queue() -> UploadQueue { UploadQueue(random: { 0 }) }

    /// A queue after the upload of the session's documents.
    private func begun() -> UploadQueue {
        var queue = queue()
        queue.add(.documents(session: "s"), now: 0)
        #expect(queue.take(now: 0) == .documents(session: "s"))
        #expect(queue.finished(.documents(session: "s"), hasAnswer: true, now: 0) == nil)
        return queue
    }

    private func away(_ kind: ObjectStoreError.Kind) -> ObjectStoreError {
        ObjectStoreError(kind, "the store is away")
    }

    @Test func `segments wait for their session, and go oldest first`() {
        var queue = queue()
        queue.add(.segment(second), endedNanoseconds: 20, now: 0)
        queue.add(.segment(first), endedNanoseconds: 10, now: 0)
        #expect(queue.take(now: 0) == .documents(session: "s"))
        #expect(queue.take(now: 0) == nil)
        #expect(queue.finished(.documents(session: "s"), hasAnswer: true, now: 0) == nil)
        #expect(queue.take(now: 0) == .segment(first))
        #expect(queue.take(now: 0) == .segment(second))
        #expect(queue.take(now: 0) == nil)
    }

    @Test func `a busy store is not asked again before the pause that it asks for`() throws {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        #expect(queue.take(now: 0) == .segment(first))
        let busy = ObjectStoreError(
            .busy, "the store is busy", retryAfterNanoseconds: 40_000_000_000)
        _ = queue.failed(.segment(first), busy, now: 0)
        #expect(try #require(queue.due(now: 0)) >= 40_000_000_000)
    }

    @Test func `evictions precede uploads`() {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        queue.add(.evict(second), now: 0)
        #expect(queue.take(now: 0) == .evict(second))
    }

    @Test func `a segment is processed by one worker at a time`() {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        #expect(queue.take(now: 0) == .segment(first))
        queue.add(.evict(first), now: 0)
        #expect(queue.take(now: 0) == nil)
        // It changed while it was being sent.
        queue.add(.segment(first), now: 0)
        #expect(queue.finished(.segment(first), hasAnswer: true, now: 0) == nil)
        #expect(queue.take(now: 0) == .evict(first))
        #expect(queue.finished(.evict(first), hasAnswer: true, now: 0) == nil)
        #expect(queue.take(now: 0) == .segment(first))
    }

    @Test func `while the store is away, one attempt is made at a time`() throws {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        queue.add(.segment(second), now: 0)
        #expect(queue.take(now: 0) != nil)
        #expect(queue.failed(.segment(first), away(.unreachable), now: 0) != nil)
        #expect(queue.take(now: 0) == nil)
        let due = try #require(queue.due(now: 0))
        #expect(queue.take(now: due - 1) == nil)
        let triedWork = queue.take(now: due)
        let tried = try #require(triedWork)
        #expect(queue.take(now: due) == nil)
        #expect(queue.failed(tried, away(.unreachable), now: due) == nil)
        // Another reason is reported.
        let later = try #require(queue.due(now: due))
        let againWork = queue.take(now: later)
        let again = try #require(againWork)
        #expect(queue.failed(again, away(.denied), now: later) != nil)
        let last = try #require(queue.due(now: later))
        #expect(last - later > due)
        let doneWork = queue.take(now: last)
        let done = try #require(doneWork)
        #expect(
            queue.finished(done, hasAnswer: true, now: last)?.contains("can be used again") == true)
        #expect(queue.take(now: last) != nil)
    }

    @Test func `answers to requests from before an outage do not end it`() throws {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        queue.add(.segment(second), now: 0)
        #expect(queue.take(now: 0) == .segment(first))
        #expect(queue.take(now: 0) == .segment(second))
        #expect(queue.failed(.segment(first), away(.unreachable), now: 0) != nil)
        #expect(queue.finished(.segment(second), hasAnswer: true, now: 0) == nil)
        var status = UploadStatus()
        queue.describe(&status, utcNanoseconds: 0)
        #expect(status.trouble != nil)
        let due = try #require(queue.due(now: 0))
        #expect(queue.take(now: due) == .segment(first))
        // The same outage is not said twice.
        #expect(queue.failed(.segment(first), away(.unreachable), now: due) == nil)
        let last = try #require(queue.due(now: due))
        #expect(queue.take(now: last) == .segment(first))
        #expect(queue.finished(.segment(first), hasAnswer: true, now: last) != nil)
    }

    @Test func `an earlier request that ends leaves the attempt of an outage alone`() throws {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        queue.add(.segment(second), now: 0)
        #expect(queue.take(now: 0) == .segment(first))
        #expect(queue.take(now: 0) == .segment(second))
        #expect(queue.failed(.segment(first), away(.unreachable), now: 0) != nil)
        let due = try #require(queue.due(now: 0))
        #expect(queue.take(now: due) == .segment(first))
        #expect(queue.failed(.segment(second), away(.unreachable), now: due) == nil)
        // One attempt at a time.
        #expect(queue.take(now: due + 3_600_000_000_000) == nil)
    }

    @Test func `work without a request to the store does not end its outage`() throws {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        queue.add(.segment(second), now: 0)
        #expect(queue.take(now: 0) != nil)
        #expect(queue.failed(.segment(first), away(.full), now: 0) != nil)
        let due = try #require(queue.due(now: 0))
        let unasked = queue.take(now: due)
        #expect(queue.finished(try #require(unasked), hasAnswer: false, now: due) == nil)
        // The next work may try, and the same failure is not reported again.
        let next = queue.take(now: due)
        #expect(queue.failed(try #require(next), away(.full), now: due) == nil)
    }

    @Test func `a session's removal waits until none of its work is running`() {
        var queue = begun()
        queue.add(.segment(first), now: 0)
        #expect(queue.take(now: 0) == .segment(first))
        queue.sessionRemoved("s")
        queue.add(.forgetSession("s"), now: 0)
        #expect(queue.take(now: 0) == nil)
        // Its file and directory are gone.
        _ = queue.failed(.segment(first), "cannot upload", hasAnswer: false, now: 0)
        #expect(queue.take(now: 0) == .forgetSession("s"))
        #expect(queue.finished(.forgetSession("s"), hasAnswer: true, now: 0) == nil)
        #expect(queue.isIdle)
    }

    @Test func `it holds a bounded number of segments`() {
        var queue = begun()
        for number in 0...UploadQueue.maximumSegments {
            let origin = UTCTime(nanoseconds: Int64(number) * 1_000_000)
            queue.add(.segment(SegmentKey(first.owner, origin: origin)), now: 0)
        }
        var status = UploadStatus()
        queue.describe(&status, utcNanoseconds: 0)
        #expect(status.waiting == UInt64(UploadQueue.maximumSegments))
        #expect(!queue.hasRoom)
    }

    @Test func `documents are delayed for a moment, once their session is known`() throws {
        var queue = begun()
        queue.add(.documents(session: "s"), now: 0)
        #expect(queue.take(now: 0) == nil)
        let due = try #require(queue.due(now: 0))
        #expect(due > 0)
        #expect(queue.take(now: due) == .documents(session: "s"))
    }

    @Test func `the lag is the age of the oldest segment that waits`() {
        var queue = begun()
        queue.add(.segment(first), sizeBytes: 5, endedNanoseconds: 1_000_000_000, now: 0)
        queue.add(.segment(second), sizeBytes: 6, endedNanoseconds: 3_000_000_000, now: 0)
        var status = UploadStatus()
        queue.describe(&status, utcNanoseconds: 4_000_000_000)
        #expect(status.oldestSeconds == 3 && status.waitingBytes == 11 && status.waiting == 2)
    }
}
