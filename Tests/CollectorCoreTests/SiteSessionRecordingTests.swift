import Archive
import Catalog
import Media
import Testing
import Wire

@testable import CollectorCore

private let second: Int64 = 1_000_000_000

/// The first picture, by the camera's clock as it is measured: a nanosecond is lost to rounding.
private let firstPicture = 1_000 * second - 1

/// A collector's session, as its site answers or does not.
@Suite struct SiteSessionRecordingTests {
    private func harness(
        isReachable: Bool = true, wallError: Int64 = 5_000_000
    ) -> SessionHarness {
        var harness = SessionHarness(
            segmentNanoseconds: 10 * second,
            host: HostClock(boot: "this", wallErrorNanoseconds: wallError), siteName: "east")
        harness.recorder.isSiteReachable = isReachable
        return harness
    }

    /// A camera whose first picture has arrived, and the start window is over.
    private func began(_ harness: inout SessionHarness) -> SteadyCamera {
        var camera = SteadyCamera("camera")
        harness.open(camera, at: 1_000 * second)
        harness.picture(&camera, capturedAt: 1_000 * second, arriving: 1_000 * second)
        #expect(harness.proposals.isEmpty && harness.started.isEmpty)
        harness.tick(1_001 * second)
        return camera
    }

    private func answer(
        _ session: String, isProposed: Bool = false, zero: Int64? = 990 * second,
        error: Int64 = 700_000, wallError: Int64 = 4_000_000
    ) -> SiteAgreement {
        SiteAgreement(
            session: SiteSession(
                number: 1, session: session,
                zeroUTCNanoseconds: 1_790_000_000 * second + 990 * second,
                wallErrorNanoseconds: wallError, segmentNanoseconds: 60 * second,
                collector: "west", archive: "",
                zero: ServerInstant(
                    nanoseconds: 0, errorNanoseconds: 0, measuredNanoseconds: 0, server: 1)),
            isProposed: isProposed, zeroMonotonicNanoseconds: zero, zeroErrorNanoseconds: error)
    }

    @Test func `a session waits for the site, and is recorded in its grid`() throws {
        var harness = harness()
        var camera = began(&harness)
        #expect(harness.started == [] && harness.jobs.isEmpty)
        let question = try #require(harness.proposals.first)
        #expect(question.proposal.session.hasSuffix("-east"))
        #expect(question.proposal.zeroMonotonicNanoseconds == firstPicture)
        #expect(question.proposal.zeroUTCNanoseconds == 1_790_000_000 * second + firstPicture)
        harness.answer(question.ticket, answer("evening"), at: 1_001 * second + 1)
        #expect(harness.started == ["evening"])
        let manifest = try #require(harness.recorder.manifest)
        #expect(manifest.segmentNanoseconds == 60 * second)
        #expect(manifest.zeroMonotonicNanoseconds == 990 * second)
        #expect(manifest.zeroUTCNanoseconds == 1_790_000_990 * second)
        #expect(manifest.clock?.zeroErrorNanoseconds == 700_000)
        #expect(manifest.attached == nil)
        #expect(harness.notes.contains { $0.contains("by the database server's clock") })
        // The held samples are recorded, and the second file begins a minute after the site's zero.
        harness.picture(&camera, capturedAt: 1_051 * second, arriving: 1_051 * second)
        harness.tick(1_060 * second)
        #expect(
            harness.openedPaths.map { $0.suffix(28) } == [
                "2026-09-21T14-29-50.000Z.mp4", "2026-09-21T14-30-50.000Z.mp4",
            ], "\(harness.openedPaths)")
        // It is reported and proposed as the site's.
        #expect(harness.recorder.siteProposal?.session == "evening")
        #expect(harness.recorder.siteProposal?.zeroErrorNanoseconds == 700_000)
    }

    @Test func `a session that is the site's first keeps its own zero`() throws {
        var harness = harness()
        _ = began(&harness)
        let question = try #require(harness.proposals.first)
        harness.answer(
            question.ticket, answer(question.proposal.session, isProposed: true),
            at: 1_001 * second + 1)
        #expect(harness.started == [question.proposal.session])
        #expect(harness.recorder.manifest?.zeroMonotonicNanoseconds == firstPicture)
        #expect(harness.recorder.manifest?.segmentNanoseconds == 10 * second)
    }

    @Test func `wall clocks place zero where the server's clock cannot`() throws {
        // The server is another one; its measurement is worse; its clock was set by a minute.
        for (zero, error) in [
            (nil, 0), (990 * second, 20_000_000), (930 * second, 700_000),
        ] as [(Int64?, Int64)] {
            var harness = harness()
            _ = began(&harness)
            let question = try #require(harness.proposals.first)
            harness.answer(
                question.ticket, answer("evening", zero: zero, error: error), at: 1_001 * second)
            let manifest = try #require(harness.recorder.manifest)
            #expect(manifest.session == "evening")
            #expect(manifest.zeroMonotonicNanoseconds == 990 * second)
            #expect(manifest.clock?.zeroErrorNanoseconds == 9_000_000)
        }
    }

    /// `adjtimex` states 16 s for a clock that is not synchronised, whatever it shows.
    @Test func `wall clocks that are not synchronised do not contradict the server's clock`() throws
    {
        for (own, first) in [(16 * second, 4_000_000), (5_000_000, 16 * second)] as [(Int64, Int64)]
        {
            var harness = harness(wallError: own)
            _ = began(&harness)
            let question = try #require(harness.proposals.first)
            // By the wall clocks, zero is 90 s after that.
            harness.answer(
                question.ticket, answer("evening", zero: 900 * second, wallError: first),
                at: 1_001 * second)
            let manifest = try #require(harness.recorder.manifest)
            #expect(manifest.session == "evening")
            #expect(manifest.zeroMonotonicNanoseconds == 900 * second)
            #expect(manifest.clock?.zeroErrorNanoseconds == 700_000)
        }
    }

    @Test func `a session that cannot be placed is begun alone, and attached when it can`() throws {
        var harness = harness()
        var camera = began(&harness)
        let question = try #require(harness.proposals.first)
        harness.answer(
            question.ticket, answer("evening", zero: nil, wallError: 16 * second),
            at: 1_001 * second)
        #expect(harness.started == [question.proposal.session])
        harness.picture(&camera, capturedAt: 1_005 * second, arriving: 1_005 * second)
        harness.tick(1_007 * second)
        let again = try #require(harness.proposals.last)
        #expect(again.ticket == question.ticket + 1)
        #expect(again.proposal == question.proposal)
        harness.answer(again.ticket, answer("evening"), at: 1_007 * second + 1)
        let written = try #require(harness.descriptions.last?.attached?.first)
        #expect(
            written
                == SessionManifest.Attachment(
                    session: "evening", zeroUTCNanoseconds: 1_790_000_990 * second,
                    segmentNanoseconds: 60 * second, offsetNanoseconds: firstPicture - 990 * second,
                    boundNanoseconds: 700_000))
        // Its name and its grid stay; the site hears of the whole.
        #expect(harness.recorder.sessionName == question.proposal.session)
        #expect(harness.recorder.manifest?.segmentNanoseconds == 10 * second)
        let reported = try #require(harness.recorder.siteProposal)
        #expect(reported.session == "evening")
        #expect(reported.zeroMonotonicNanoseconds == 990 * second)
        #expect(reported.zeroErrorNanoseconds == 700_000)
        #expect(reported.segmentNanoseconds == 60 * second)
        #expect(harness.notes.contains { $0.contains("is attached to the site's session evening") })

        // A standby that lacks the row: another session is the site's by then, and remains so.
        harness.recorder.siteDenied("evening", at: SessionHarness.instant(1_100 * second))
        harness.tick(1_105 * second)
        let third = try #require(harness.proposals.last)
        #expect(third.ticket == again.ticket + 1 && third.proposal == reported)
        harness.answer(third.ticket, answer("night"), at: 1_106 * second)
        let both = try #require(harness.descriptions.last?.attached)
        #expect(both.first == written && both.map(\.session) == ["evening", "night"])
        #expect(harness.recorder.siteProposal?.session == "night")
        // The first one is the site's again: what was written stays.
        harness.recorder.siteDenied("night", at: SessionHarness.instant(1_200 * second))
        harness.tick(1_205 * second)
        let fourth = try #require(harness.proposals.last)
        harness.answer(fourth.ticket, answer("evening"), at: 1_206 * second)
        #expect(harness.recorder.manifest?.attached == both)
    }

    @Test func `without an answer, a session begins after two seconds, and a late one is ignored`()
        throws
    {
        var harness = harness()
        _ = began(&harness)
        let question = try #require(harness.proposals.first)
        harness.tick(1_002 * second + 900_000_000)
        #expect(harness.started == [])
        harness.tick(1_003 * second)
        #expect(harness.started == [question.proposal.session])
        harness.answer(question.ticket, answer("evening"), at: 1_004 * second)
        #expect(harness.recorder.sessionName == question.proposal.session)
        #expect(harness.recorder.manifest?.attached == nil)
    }

    @Test func `without the site nothing waits, and it is asked when it is reachable`() throws {
        var harness = harness(isReachable: false)
        _ = began(&harness)
        #expect(harness.started.count == 1 && harness.proposals.isEmpty)
        harness.recorder.isSiteReachable = true
        harness.tick(1_002 * second)
        let question = try #require(harness.proposals.first)
        harness.answer(
            question.ticket, answer(question.proposal.session, isProposed: true),
            at: 1_003 * second)
        harness.tick(1_100 * second)
        #expect(harness.proposals.count == 1)
        #expect(harness.recorder.manifest?.attached == nil)
    }

    @Test func `a stop or a suspension does not wait for the site`() throws {
        for isSuspended in [false, true] {
            var harness = harness()
            _ = began(&harness)
            let now = SessionHarness.instant(1_001 * second + 1)
            if isSuspended {
                harness.apply(harness.recorder.suspend(at: now))
            } else {
                harness.apply(harness.recorder.end(.stopped, at: now))
            }
            #expect(harness.started.count == 1)
            #expect(harness.ended.count == (isSuspended ? 0 : 1))
        }
    }

    /// The site's session has ended here, and continues elsewhere.
    private func afterEnd(
        _ end: (inout SessionHarness, inout SteadyCamera) -> Void
    ) throws -> SessionHarness {
        var harness = harness()
        var first = began(&harness)
        let question = try #require(harness.proposals.first)
        harness.answer(question.ticket, answer("evening"), at: 1_001 * second)
        end(&harness, &first)
        #expect(harness.ended == ["evening"])
        var camera = SteadyCamera("another")
        harness.open(camera, at: 1_020 * second)
        harness.picture(&camera, capturedAt: 1_020 * second, arriving: 1_020 * second)
        harness.tick(1_021 * second)
        let next = try #require(harness.proposals.last)
        #expect(next.proposal.stopped == (harness.reasons == [.stopped] ? ["evening"] : []))
        harness.answer(next.ticket, answer("evening"), at: 1_021 * second)
        #expect(harness.started == ["evening", next.proposal.session])
        return harness
    }

    @Test func `a session after one that ended by itself is attached to it`() throws {
        let harness = try afterEnd { $0.goodbye(&$1, at: 1_005 * second) }
        let attached = try #require(harness.descriptions.last?.attached?.last)
        #expect(attached.session == "evening" && attached.offsetNanoseconds == 30 * second - 1)
    }

    @Test func `a session after one that was stopped is another one`() throws {
        var harness = try afterEnd { harness, _ in
            harness.apply(
                harness.recorder.end(.stopped, at: SessionHarness.instant(1_005 * second)))
        }
        #expect(harness.recorder.manifest?.attached == nil)
        // Also when it is asked again.
        harness.tick(1_027 * second)
        let again = try #require(harness.proposals.last)
        harness.answer(again.ticket, answer("evening"), at: 1_027 * second)
        #expect(harness.recorder.manifest?.attached == nil)
        harness.tick(1_033 * second)
        #expect(harness.proposals.last?.ticket == again.ticket + 1)
    }
}
