import Testing

@testable import AgentCore

/// When the return of a network camera is logged.
@Suite struct NetworkReturnTests {
    @Test func `the return is logged once, when the camera has accepted to send packets`() {
        var own = NetworkReturn()
        own.opened(isDoubtful: false)
        var isLogged = own.isToLog(isPlaying: false, isFlowing: false)
        #expect(!isLogged)
        isLogged = own.isToLog(isPlaying: true, isFlowing: false)
        #expect(isLogged)
        isLogged = own.isToLog(isPlaying: true, isFlowing: true)
        #expect(!isLogged)
    }

    @Test func `after doubtful openings, only a sample is a return`() {
        var own = NetworkReturn()
        own.opened(isDoubtful: true)
        var isLogged = own.isToLog(isPlaying: true, isFlowing: false)
        #expect(!isLogged)
        isLogged = own.isToLog(isPlaying: true, isFlowing: true)
        #expect(isLogged)
    }

    @Test func `a first connection, and one that ends before it plays, are not a return`() {
        var own = NetworkReturn()
        var isLogged = own.isToLog(isPlaying: true, isFlowing: true)
        #expect(!isLogged)
        own.opened(isDoubtful: false)
        own.lost()
        isLogged = own.isToLog(isPlaying: true, isFlowing: true)
        #expect(!isLogged)
    }
}
