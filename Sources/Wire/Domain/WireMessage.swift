/// The decoded and checked header part of a message.
package enum WireMessage: Hashable, Sendable {
    // Agent to collector.
    case hello(Hello)
    case samples(Samples)
    case gap(GapRecord)
    case trackUpdate(TrackUpdate)
    case goodbye(Goodbye)
    case clockProbe(ClockProbe)
    case heartbeat(Heartbeat)
    case report(Report)
    case enrol(Enrol)

    // Collector to agent.
    case welcome(Welcome)
    case acknowledgement(Acknowledgement)
    case refusal(Refusal)
    case clockReply(ClockReply)
    case ping
    case command(Command)
    case enrolled(Enrolled)

    /// A message of a later minor version: ignored.
    case unknown
}
