import Wire

/// The requests that programs of the archive's group may make, at the socket for commands.
enum GroupCommands {
    /// Why a request is refused; nil: it is permitted.
    static func refusal(of request: ControlRequest.Request) -> ControlReply.Reply? {
        switch request {
        case .command(let request, _) where request.choosesDevices:
            // The right to watch does not include the choice of a box's files and addresses.
            .failure(.refused, "devices cannot be changed at this socket: use 'tributary agent'")
        case .stopSession, .changeSession, .command: nil
        case .sessionChanged, .drain, .status, .unknown:
            .failure(.unknownRequest, "this socket does not take that request")
        }
    }
}
