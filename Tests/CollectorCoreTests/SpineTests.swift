import Archive
import Synchronization
import Testing

@testable import CollectorCore

@Suite struct SpineTests {
    private func began(_ session: String) -> RecordingEvent {
        .sourceBegan(SourceKey(session: session, source: "one"))
    }

    @Test func `a listener gets the events of its topics, in order`() {
        let spine = Spine()
        let sessions = SpineListener(.sessions, capacity: 8)
        let all = SpineListener(.all, capacity: 8)
        spine.add(sessions)
        spine.add(all)
        let segment = SegmentKey(SourceKey(session: "a", source: "one"), origin: DiskScene.zero)
        spine.publish([began("a"), .durable(segment, upTo: 7), began("b")])
        #expect(sessions.take().events.map(\.session) == ["a", "b"])
        #expect(all.take().events.count == 3)
        #expect(all.take().events.isEmpty)
        spine.remove(all)
        spine.publish([began("c")])
        #expect(all.take().events.isEmpty)
        #expect(sessions.take().events.map(\.session) == ["c"])
    }

    @Test func `a follower processes all events before its stop`() {
        let spine = Spine()
        let follower = SpineFollower(spine, .sessions, capacity: 8)
        let heard = Mutex<[String]>([])
        follower.start("follower") { batch in
            heard.withLock { $0 += batch.events.map(\.session) }
        }
        spine.publish([began("a")])
        spine.publish([began("b")])
        #expect(follower.stop())
        #expect(heard.withLock { $0 } == ["a", "b"])
        #expect(!spine.hasListener(for: .all))
    }

    @Test func `no event is made without a listener`() throws {
        let scene = try DiskScene()
        var isMade = false
        func event() -> RecordingEvent {
            isMade = true
            return began("a")
        }
        scene.worker.publish(.fragments, event())
        #expect(!isMade)
        let listener = SpineListener(.fragments, capacity: 8)
        scene.spine.add(listener)
        #expect(scene.spine.hasListener(for: .fragments) && !scene.spine.hasListener(for: .ledgers))
        scene.worker.publish(.fragments, event())
        #expect(isMade)
        scene.spine.remove(listener)
        #expect(!scene.spine.hasListener(for: .all))
    }

    @Test func `a slow listener loses events, and gets the sessions of those`() {
        let spine = Spine()
        let slow = SpineListener(.all, capacity: 2)
        let quick = SpineListener(.all, capacity: 8)
        spine.add(slow)
        spine.add(quick)
        spine.publish(["a", "b", "c", "d"].map(began))
        let heard = slow.take()
        #expect(heard.events.map(\.session) == ["a", "b"])
        #expect(heard.lost == .sessions(["c", "d"]))
        #expect(quick.take().lost == .nothing)
        spine.publish([began("e")])
        #expect(slow.take().lost == .nothing)
        spine.publish((0..<1_000).map { began("\($0)") })
        #expect(slow.take().lost == .everything)
    }

    @Test func `a listener is notified once until it reads`() {
        let count = Mutex(0)
        let spine = Spine()
        let listener = SpineListener(.sessions, capacity: 2) { count.withLock { $0 += 1 } }
        spine.add(listener)
        for session in ["a", "b", "c"] { spine.publish([began(session)]) }
        #expect(count.withLock { $0 } == 1)
        _ = listener.take()
        spine.publish([began("d")])
        #expect(count.withLock { $0 } == 2)
    }

    @Test func `a fragment is announced with its position, and again when it is durable`() throws {
        let scene = try DiskScene()
        let listener = SpineListener(.fragments, capacity: 8)
        scene.spine.add(listener)
        let before = scene.report(1, of: "one").sizeBytes
        scene.append(3...4, to: 1, of: "one")
        scene.hear()
        let after = UInt64(scene.report(1, of: "one").sizeBytes)
        let heard = listener.take().events
        guard heard.count == 1, case .fragmentAppended(let key, let fragment) = heard[0] else {
            Issue.record("\(heard)")
            return
        }
        #expect(scene.layout.segment(key) == scene.path(1, of: "one"))
        #expect(fragment.bytes == UInt64(before)..<after)
        // 3,000 ticks of 90 kHz each.
        #expect(fragment.startNanoseconds == 100_000_000)
        #expect(abs(fragment.durationNanoseconds - 66_666_667) <= 1)
        #expect(fragment.beginsDecodable)
        scene.worker.commit()
        scene.hear()
        guard case .durable(key, upTo: after)? = listener.take().events.last else {
            Issue.record("not said to be durable")
            return
        }
    }
}
