import ObjectStore
import Testing

@testable import Library
@testable import Recordings

@Suite struct StoreAvailabilityTests {
    private static let absence = StoreAvailability.absenceNanoseconds
    private let silence = ObjectStoreError(.unreachable, "it did not answer in time")

    @Test func `a store that was away is not asked for a while, and then by one`() {
        var availability = StoreAvailability()
        #expect(availability.refusal(nowNanoseconds: 0) == nil)
        availability.failed(silence, nowNanoseconds: 10)
        #expect(availability.refusal(nowNanoseconds: 10) == silence)
        #expect(availability.refusal(nowNanoseconds: 9 + Self.absence) == silence)
        #expect(availability.refusal(nowNanoseconds: 10 + Self.absence) == nil)
        // Other requests do not wait for its result.
        #expect(availability.refusal(nowNanoseconds: 11 + Self.absence) == silence)
    }

    @Test func `an answer ends the absence, a refusal is an answer`() {
        for kind in [ObjectStoreError.Kind.denied, .gone, .changed, .refused, .full] {
            var availability = StoreAvailability()
            availability.failed(silence, nowNanoseconds: 0)
            availability.failed(ObjectStoreError(kind, "no"), nowNanoseconds: 1)
            #expect(availability.refusal(nowNanoseconds: 2) == nil)
        }
        var availability = StoreAvailability()
        availability.failed(silence, nowNanoseconds: 0)
        availability.answered()
        #expect(availability.refusal(nowNanoseconds: 1) == nil)
    }

    @Test func `the end of the program says nothing of the store`() {
        var availability = StoreAvailability()
        availability.failed(ObjectStoreError(.stopped, "the program ends"), nowNanoseconds: 0)
        #expect(availability.refusal(nowNanoseconds: 1) == nil)
    }
}
