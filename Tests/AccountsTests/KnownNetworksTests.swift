import Testing

@testable import Accounts

struct `The known networks of an account` {
    private func network(_ number: Int) -> RemoteNetwork {
        RemoteNetwork("10.0.\(number >> 8 & 255).\(number & 255)")
    }

    @Test func `are its latest eight`() {
        var known = KnownNetworks()
        for index in 0..<8 { known.add(network(index), of: "anna") }
        // Used again: it is not the oldest any more.
        known.add(network(0), of: "anna")
        known.add(network(8), of: "anna")
        #expect(known.contains(network(0), of: "anna"))
        #expect(!known.contains(network(1), of: "anna"))
        for index in 2...8 { #expect(known.contains(network(index), of: "anna")) }
        #expect(!known.contains(network(0), of: "ben"))
    }

    @Test func `are kept for the maximum number of accounts`() {
        var known = KnownNetworks()
        for index in 0..<3 * KnownNetworks.maximumNames {
            known.add(network(index), of: "user-\(index)")
            #expect(known.count <= KnownNetworks.maximumNames)
        }
        #expect(known.contains(network(29_999), of: "user-29999"))
    }
}
