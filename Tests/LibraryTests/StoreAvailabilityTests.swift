import ObjectStore
import Testing

@testable import Library
@testable import Recordings

@Suite struct StoreAvailabilityTests {
    private static let absence = StoreAvailability.absenceNanoseconds
    private let silence = ObjectStoreError(.unreachable, "it did not answer in time")

    @Test func `a failed store is not asked for a while, then by one request`() {
        var availability = StoreAvailability()
        #expect(availability.refusal(nowNanoseconds: 0) == nil)
        availability.failed(silence, nowNanoseconds: 10)
        #expect(availability.refusal(nowNanoseconds: 10) == silence)
        #expect(availability.refusal(nowNanoseconds: 9 + Self.absence) == silence)
        #expect(availability.refusal(nowNanoseconds: 10 + Self.absence) == nil)
        // Other requests do not wait for its result.
        #expect(availability.refusal(nowNanoseconds: 11 + Self.absence) == silence)
    }

    @Test func `any response of the store ends its absence, also a refusal`() {
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

    @Test func `a request that the program's end has cancelled does not count as a failure`() {
        var availability = StoreAvailability()
        availability.failed(ObjectStoreError(.stopped, "the program ends"), nowNanoseconds: 0)
        #expect(availability.refusal(nowNanoseconds: 1) == nil)
    }
}
