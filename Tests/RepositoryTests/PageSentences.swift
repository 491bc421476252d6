/// Every sentence that the viewer's page can show, below the data that it is derived from.
///
/// `…` stands for an inserted value. A sentence must not state more than its data: check that before adding one.
enum PageSentences {
    static let table = #"""
        names a control, a field, a column or a part of the page
            account.js: Change the password
            account.js: New password, at least … characters
            account.js: Present password
            account.js: The same again
            account.js: Who you are
            calendar.js: Month after
            calendar.js: Month before
            embed.js: Live pictures
            export.js: , with the time
            export.js: A file for each source
            export.js: All … side by side (encoded again)
            export.js: All …, a file each (ZIP)
            export.js: Copy a link to the clip
            export.js: How long the link works
            export.js: Link to the clip
            export.js: List the files
            export.js: Save this picture
            export.js: The time burnt in (UTC; encoded again)
            export.js: What is exported
            export.js: an hour
            export.js: for …
            export.js: of …, in full size
            export.js: that works
            export.js: …, as it was recorded
            health-collectors.js: Bit rate
            health-collectors.js: Clock error
            health-collectors.js: Collectors as a table
            health-collectors.js: Collectors of the site
            health-collectors.js: Held alone
            health-collectors.js: Not stored
            health-history.js: Bit rate
            health-history.js: Clock error
            health-history.js: Kept on the box
            health-history.js: Lost samples
            health.js: Bit rate
            health.js: Clock error
            health.js: Full in
            health.js: Kept on the box
            health.js: Lost samples
            health.js: Making durable (fdatasync)
            health.js: Pictures per second
            health.js: Refused connections
            health.js: Sources as a table
            health.js: Sources now; of lag and clock error the greatest of the last hour as well
            health.js: The same as a table
            health.js: What is wrong
            health.js: What the alerts mean
            health.js: What this alert means
            keys.js: Letters and signs act at once, without Control
            keys.js: This list
            live-tile.js: How long ago this picture was captured; error bound of its time; pictures per second of the source.
            live-toolbar.js: What sources with a preview show (key Q)
            live-toolbar.js: by size
            live-toolbar.js: full size
            live.js: Live pictures
            live.js: Watch the recording
            live.js: What to do
            level-bar.js: Sound level of …
            live-choice.js: Sources on the wall
            live-commands.js: Ask for a keyframe
            live-commands.js: Bit rate
            live-commands.js: Commands for …
            live-commands.js: Frame rate
            live-commands.js: Not mirrored
            live-commands.js: Not rotated
            live-commands.js: Save a snapshot
            live-commands.js: Start the capture
            live-commands.js: Stop the capture
            live-commands.js: …° clockwise
            live-tile.js: Commands for …
            live-tile.js: Enlarge …
            live-tile.js: Recording of … at this instant
            live-tile.js: Sound of …
            live-tile.js: … (key R)
            live-toolbar.js: Each tile as soon as it can (key I)
            live-toolbar.js: Every tile shows the same instant (key I)
            live-toolbar.js: Full screen
            live-toolbar.js: In step
            live-toolbar.js: Live wall
            live-toolbar.js: Mark the instant that is shown (key K)
            live-toolbar.js: Next tiles
            live-toolbar.js: Next tiles (key N)
            live-toolbar.js: Session time
            live-toolbar.js: Show the next tiles by themselves
            live-toolbar.js: Tiles before
            live-toolbar.js: Tiles before (key P)
            live-toolbar.js: Tiles of this wall
            live-toolbar.js: Which instant
            live-walls.js: All sources
            live-walls.js: Edit …
            live-walls.js: For everybody who may see one of its sources
            live-walls.js: New wall
            live-walls.js: Remove …
            live-walls.js: Sources, in the order of the tiles
            live-walls.js: Tiles at once
            live-walls.js: Turn every so many seconds
            live-walls.js: by hand
            login.js: Log in
            playback-choice.js: Sources that are shown
            playback-marks.js: Mark …
            playback-missing.js: What is missing
            playback-tile.js: Error bound of the time of this picture.
            playback-tile.js: Picture of …
            sessions.js: Older sessions
            sessions.js: Other names
            sessions.js: Try again
            sessions-day.js: Time of this day
            sessions-edit.js: End the recording …?
            sessions-edit.js: Name, tags and note
            sessions-edit.js: Remove …?
            sessions-search.js: All that was recorded on a day
            sessions-search.js: Name, tag, note or source
            shell.js: Account: password and links
            shell.js: Colours of the page
            shell.js: Log out
            shell.js: The zone of all times on this page
            shell.js: Time zone
            shell.js: Tributary, live
            shell.js: … · Tributary
            still-pictures.js: Picture of …
            timeline.js: Being recorded
            timeline.js: Place in the session
            timeline.js: What the colours mean

        what a control or a key does
            account.js: All log-ins of this account end with it, on every device.
            calendar.js: A click on a lane opens that instant.
            health-collectors.js: Age of its last report.
            health-collectors.js: Connected sources.
            health-collectors.js: Data that agents keep for it.
            health-collectors.js: Draining: it takes no new sources.
            health-collectors.js: Finished segments that are not in the object store.
            health-collectors.js: Free space of its disk.
            health-collectors.js: Records that no other collector has, nor, as far as is known, the object store.
            health-collectors.js: The largest error between its clock and that of another collector that is there.
            health.js: The runbook, deploy/alerts.md, says more under the same names.
            health.js: The viewer remembers an hour, from when it was started.
            live.js:  can be watched meanwhile.
            live.js: , or wait for the next one.
            live.js: All tiles of one size
            live.js: Commands for the tile’s agent
            live.js: Fastest: each tile as soon as it can.
            live.js: Full screen
            live.js: Full size, also in small tiles.
            live.js: Hear the tile, or silence
            live.js: In step, or fastest
            live.js: Longer delay
            live.js: Make the tile large, or small again
            live.js: Mark the instant that is shown
            live.js: Next tiles of a wall that has more
            live.js: Pictures by size, previews, or full size
            live.js: Pictures by size: large tiles show sources, small ones previews.
            live.js: Previews, also in large tiles.
            live.js: Recording of the tile, at the instant that is shown
            live.js: Shorter delay
            live.js: The delay follows the slowest source.
            live.js: Tiles before
            live.js: To the tile beside this one
            live.js: Walls that are saved
            live-commands.js: 25 or own
            live-toolbar.js: follows the slowest
            picture-zoom.js: Move the picture that is zoomed into
            picture-zoom.js: The whole picture (key X)
            picture-zoom.js: The whole picture again
            picture-zoom.js: Zoom into the picture of the tile
            picture-zoom.js: Zoom out of the picture
            playback.js: A minute back
            playback.js: A minute on
            playback.js: All pictures on the full screen
            playback.js: Go live
            playback.js: In point here
            playback.js: Loop between in and out
            playback.js: Mark the picture that is shown
            playback.js: One picture back
            playback.js: One picture on
            playback.js: Out point here
            playback.js: Play backwards; again: faster
            playback.js: Play on; again: faster
            playback.js: Play, pause
            playback.js: The whole timeline
            playback.js: To that tenth of the session
            playback.js: To the beginning
            playback.js: To the end
            playback.js: To the in point
            playback.js: To the next gap
            playback.js: To the next mark
            playback.js: To the out point
            playback.js: To the previous gap
            playback.js: To the previous mark
            playback.js: Zoom in on the timeline
            playback.js: Zoom out of the timeline
            playback.js: … seconds back
            playback.js: … seconds on
            playback-controls.js: In point here (I)
            playback-controls.js: Loop between in and out (P)
            playback-controls.js: Next gap
            playback-controls.js: Next gap (G)
            playback-controls.js: Next mark
            playback-controls.js: Next mark (N)
            playback-controls.js: No in and out points
            playback-controls.js: No sound
            playback-controls.js: One picture back (left arrow)
            playback-controls.js: One picture on (right arrow)
            playback-controls.js: Out point here (O)
            playback-controls.js: Pause (space)
            playback-controls.js: Place in the session
            playback-controls.js: Play (space)
            playback-controls.js: Previous gap
            playback-controls.js: Previous gap (shift G)
            playback-controls.js: Previous mark
            playback-controls.js: Previous mark (shift N)
            playback-controls.js: Session time: 83.5 or 1:23.5
            playback-controls.js: Sound: …
            playback-controls.js: Speed (J and L)
            playback-controls.js: The whole timeline (A)
            playback-controls.js: Time of day
            playback-controls.js: Time of day, in the zone that is shown: 15:04:05, or 2026-11-20 15:04
            playback-controls.js: Whose sound is heard
            playback-controls.js: Zoom in (+)
            playback-controls.js: Zoom out (−)
            playback-marks.js: Go there
            playback-marks.js: Go to …
            playback-marks.js: Remove the mark at …
            playback-missing.js: Go there
            playback-missing.js: Go to …
            playback-tile.js: Steps go by the pictures of this source
            sessions-edit.js: All of this is deleted from the archive, whatever part of it the list was narrowed to. It cannot be brought back.
            sessions-edit.js: End it
            sessions-edit.js: Remove for ever
            sessions-edit.js: The session ends now and is kept. A source that goes on sending begins another session.
            sessions-edit.js: separated by commas
            sessions-item.js: Protected sessions are not removed: unprotect it first

        what somebody has typed, chosen or pointed at
            account.js: The new password was typed in two different ways.
            embed.js: This address has no valid name of a source: use /embed/SOURCE.
            export.js: From … to …: … s.
            export.js: The out point has to be later than the in point.
            export.js: The whole session. Set an in and an out point (keys I and O) for a part of it.
            live.js: Choose a tile first, with the arrow keys.
            live.js: The delay is … s.
            main.js: No such page
            main.js: There is no page at this address.
            playback.js: Set an in and an out point first (keys I and O).
            playback.js: There is no … point yet: key … sets it.
            playback-choice.js: At most … at once.
            playback-choice.js: … of …
            playback-controls.js: “…” is no session time: write 83.5 or 1:23.5. The field beside it takes a time of day.
            playback-missing.js: After the in point
            playback-missing.js: Before the out point
            playback-missing.js: Between the in and out points
            playback-missing.js: In the whole session
            sessions-edit.js: A tag has at most … characters: shorten “……”.
            sessions-edit.js: Nothing was changed.
            sessions-search.js: “Until” has to be later than “From”.
            zone.js: There is no time zone “…”: times are shown in ….
            zone.js: Write a time as 15:04, 15:04:05 or 2026-11-20 15:04.
            zone.js: … comes twice in …, because clocks are put back: write … behind it.
            zone.js: … does not exist in …: clocks are put forward over it.
            zone.js: … is no time: a day has 24 hours, an hour 60 minutes.

        the answer to a request of this page that has come
            playback.js: This session has been removed. Only pictures that this page has read before can still be shown.
            health-collectors.js: The site’s database
            health-collectors.js: The viewer
            health-collectors.js: … does not answer: this is of ….
            account.js: The link to … opens nothing any more.
            account.js: The password is changed. Log in with the new one.
            api.js: The viewer answered ….
            api.js: The viewer does not answer. Is the network there?
            embed.js: The address of this frame needs a signed link, or #token=TOKEN. Correct it where the frame is, then reload the page.
            embed.js: The viewer refuses this address: …. Reload the page to try again.
            export.js: Everybody who has it can open this clip of …, ….
            export.js: Nothing of it is recorded in this part.
            export.js: The download of … begins.
            export.js: The export has been asked for.
            export.js: The link is copied. …
            export.js: The picture is saved as ….
            export.js: …: nothing of it is recorded in this part.
            live.js:  at …
            live.js: Marked …….
            live.js: The mark is removed.
            live.js: all sources
            live-commands.js: Not done: …
            live-commands.js: the snapshot is saved.
            live-walls.js: The wall … is removed.
            live-walls.js: The wall … is saved.
            live-walls.js: The wall … is there again.
            login.js: The viewer answered ….
            login.js: The viewer does not answer. Is the network there?
            login.js: Too many attempts. Wait until the button can be pressed again.
            login.js: Wrong name or password.
            login.js: Your log-in has ended. Log in again to go on where you were.
            login.js: … (in … s)
            main.js: The page cannot be shown: …
            playback-marks.js: Marked ….
            playback-marks.js: The mark at … is removed.
            playback-marks.js: The mark at … is there again.
            sessions-edit.js: not known
            sessions-edit.js: … has ended.
            sessions-edit.js: … is not protected any more.
            sessions-edit.js: … is protected: nothing removes it.
            sessions-edit.js: … is removed.
            sessions-item.js: length unknown
            sessions-item.js: what is missing is unknown

        a request of this page that has not been answered yet
            sessions-day.js: being read
            account.js: Reading the list of links…
            calendar.js: Reading what was recorded…
            health.js: Waiting for the collector’s status…
            live.js: Asking the viewer what there is…
            live-commands.js: Asking the agent…
            playback.js: Reading the session…
            sessions.js: Reading the list of sessions…
            sessions-edit.js: is being read…

        the account (GET /api/v1/account)
            account.js: Operator: looks, exports and changes
            account.js: This viewer has no accounts: everybody who reaches it may see and change everything.
            account.js: Viewer: looks and exports
            export.js: This viewer has no accounts: the link opens for everybody who reaches it, and for nobody else.
            playback-marks.js: Only operators mark instants of a session.

        own links (GET /api/v1/links)
            account.js: End the link to …
            account.js: Everybody who has one of these can open it, without a log-in.
            account.js: No link that you have made is open.
            account.js: a frame with …, live
            account.js: a picture of …, …
            account.js: from … s
            account.js: the newest picture of …
            account.js: until … s

        walls (GET /api/v1/walls)
            live.js: There is no such wall, or not any more: all sources are shown.
            live-walls.js: No wall is saved yet.
            live-walls.js: turning every … s
            live-walls.js: … at once

        what was recorded in a time (GET /api/v1/recorded)
            calendar.js: Nothing was recorded on this day.
            calendar.js: …: nothing recorded
            sessions-day.js: nothing recorded

        lines of the ledgers and spans of the files (GET …/coverage)
            causes.js:  or more
            causes.js: , …… missing
            causes.js: a file could not be written
            causes.js: a stored record was damaged
            causes.js: late pictures were dropped, as configured
            causes.js: nothing missing
            causes.js: removed by retention
            causes.js: stopped on purpose, by a command
            causes.js: the agent was not running
            causes.js: the agent’s storage was full
            causes.js: the camera sent damaged data
            causes.js: the camera’s driver had no buffer
            causes.js: the cause is unknown
            causes.js: the device was disconnected
            causes.js: the encoder was slower than the camera
            causes.js: the sound card’s buffer overflowed
            causes.js: the network between camera and agent lost packets
            causes.js: the source’s times were impossible
            causes.js: … on purpose
            causes.js: … removed
            playback.js: No gap after this.
            playback.js: No gap before this.
            playback.js: No source … in this session.
            playback-controls.js: That is not in this session: it goes from …, … to …….
            playback-controls.js: The session is … long: … is not in it. The field beside it takes a time of day.
            playback.js: more held elsewhere
            playback-missing.js:  Of …, … held by …, which is not read.
            playback-missing.js:  A gap that reaches beyond it is counted whole.
            playback-missing.js: , for …
            playback-missing.js: … more are on the timeline.
            playback-missing.js: …: …, at an unknown time: ….
            playback-tile.js:  Back at ….
            playback-tile.js: : pictures are missing
            playback-tile.js: Held by …, which is not read.
            playback-tile.js: : … missing
            playback-tile.js: Nothing of it is recorded.
            playback-tile.js: Recorded, and not to be played yet.
            playback-tile.js: The recording has not got here yet.
            timeline-collectors.js: At …
            timeline-collectors.js: Held by …, which is not read
            timeline-collectors.js: Held by …, which is not read: …
            timeline-collectors.js: … and …
            timeline-hover.js:  for …
            timeline-hover.js:  of …
            timeline-hover.js: , in …
            timeline-hover.js: camera’s clock: …, …
            timeline-hover.js: … after
            timeline-hover.js: … before
            timeline-hover.js: …; it is ahead by … or more
            timeline-hover.js: an unknown number of samples missing
            timeline-hover.js: and … more
            timeline-hover.js: … missing
            timeline-hover.js: …: from ……….
            timeline-hover.js: Found by the collector
            timeline-hover.js: Reported by the agent itself

        the session as the viewer describes it (GET /api/v1/sessions, …/NAME)
            export.js: About … as recorded; encoded again, its size is known when it is done.
            export.js: About ….
            playback.js: recording now
            session-name.js: Session of …
            sessions.js: , and there are older ones
            sessions.js: No session fits. Try fewer words or a longer time.
            sessions.js: Nothing has been recorded yet. Sessions appear here when the collector records.
            sessions-item.js: Not ended in order
            sessions-item.js: Recording now

        marks (GET …/marks)
            playback.js: No mark after this.
            playback.js: No mark before this.
            playback-marks.js: None yet. Key M marks the picture that is shown.
            playback-marks.js: … more are on the timeline.

        the index of the media that is played (HLS playlist, heads of fragments)
            playback-tile.js: Ended at ….
            playback-tile.js: No picture at this time.
            playback-tile.js: No picture for …: back at ….
            playback-tile.js: Not begun yet: its first picture is at ….
            playback-tile.js: Sound only: this source has no pictures here.
            playback-tile.js: clock not measured
            playback-tile.js: ± … ms

        the collector’s status, once a second (event status)
            disk-words.js: The disk has not responded for ….
            disk-words.js: The disk is full: the minimum free space is reached. Agents keep their samples.
            disk-words.js: The disk reports errors: … cannot be written.
            health.js:  of …
            health.js: , … of memory
            health.js: Everything is well.
            health.js: No source is connected.
            health.js: left …
            health.js: preview of …
            health.js: recorded by …
            health.js: never: the oldest is removed
            health.js: no contact
            health.js: not known yet
            health.js: nothing missing
            health.js: nothing yet
            health.js: … free…
            health.js: … kept for …
            health.js: … on average
            health-findings.js:  for …
            health-findings.js: Making samples durable takes ….
            health-findings.js: No collector answers the viewer….
            health-findings.js: No contact with …, which has not ended.
            health-findings.js: Nothing of … has become durable for ….
            health-findings.js: The agent of … keeps … that are not durable at the collector.
            health-findings.js: The collector accepts no samples.
            health-findings.js: The collector has not processed messages for ….
            health-findings.js: The disk is full in … at the present rate, and nothing is removed automatically.
            health-findings.js: The recording of … has … in the last ten minutes.
            health-findings.js: The times of … are only accurate to ….
            health-findings.js: new gap
            health-findings.js: … is connected and sends nothing….
            health-findings.js: … is … late.
            health-findings.js: … is recorded once: … are kept for ….
            health-findings.js: … more than are watched.
            health-findings.js: … refused in the last quarter of an hour.
            live.js: No contact with the collector since …. 
            live.js: No source is connected yet.
            live.js: Nothing is being recorded. A session begins with the first sample of a source.
            live.js: The collector accepts no samples.
            live-choice.js: No source is known yet.
            live-tile.js: Recorded by …; no pictures from there…
            live-tile.js: Stopped on purpose…

        the reports of a site’s collectors (GET /api/v1/site)
            health-collectors.js:  of …
            health-collectors.js: , … of them not there
            health-collectors.js: done by …
            health-collectors.js: no holder at present
            health-collectors.js: not compared
            health-collectors.js: … ago
            health-collectors.js: ……, as … knows them.

        the status of the last hour (GET /api/v1/history)
            health.js: Sources, the last …
            health.js: in the last hour
            health.js: … minutes
            health-plot.js: greatest …

        an event of the viewer (session, sessionEnded, gap, job)
            export.js: The export failed: …
            export.js: The export is ready.
            export.js: failed: …
            export.js: no reason was given
            export.js: , from … on
            export.js: , the whole session
            export.js: , up to …
            export.js: , … to …
            export.js: waits for those before it
            live.js: … has begun.
            live.js: … has ended.
            live.js: … has ended. 
            live-missing.js:  since …
            live-missing.js: Something is missing
            live-missing.js: sound packet
            live-missing.js: … missing

        frames of the live stream, and when the last one came (GET /api/v1/live)
            live.js: No picture has come yet that could be marked.
            live.js: No picture of … has come yet.
            live.js: … has no sound.
            live-collector.js: Moved …
            live-collector.js: from … to … … …
            live-tile.js:  Moved ….
            live-tile.js:  since …
            live-tile.js: The collector of these pictures is ….…
            live-tile.js: No contact…
            live-tile.js: Sound only
            live-tile.js: The first picture comes with the next keyframe
            live-tile.js: Waiting for the first picture
            live-tile.js: clock not measured
            live-tile.js: … late
            live-tile.js: … s ago

        the sound of a source, decoded
            level-bar.js: … dB

        what the browser can do, and what it has refused
            export.js: Copy the link from the field. …
            live-tile.js: Pictures of its preview: …
            live.js: No full screen: …
            live.js: This browser has no full screen for pages.
            live-follower.js: This browser cannot decode ….
            live-painter.js: This browser cannot decode ….
            live-tile.js: … Keyframes are shown as pictures.
            media-buffer.js: the browser cannot decode it
            media-buffer.js: the browser takes no more media in
            playback-tile.js: Pictures of its preview: this browser cannot play ….
            playback.js: This browser does not allow the full screen here.
            playback-media.js: The browser cannot decode this recording.
            playback-media.js: This browser cannot decode it: trying again.
            playback-media.js: This browser cannot play recordings (it has no Media Source Extensions).
            playback-tile.js: This browser cannot decode this part of the recording.
            playback-tile.js: This browser cannot play …: keyframes are shown as pictures.
            live-tile.js: Decoded by a media element (Media Source Extensions), which is later.
            live-tile.js: Decoded by a media element (Media Source Extensions), which is later: WebCodecs needs https or localhost.
            live-tile.js: Decoded picture by picture (WebCodecs).
            live-tile.js: by MSE

        the state of the page itself: its clock, its connection, its tiles
            health-findings.js: : its last status came … ago
            health-findings.js: The viewer does not answer….
            export.js: , about … more
            health.js: since this page was opened
            live-tile.js: Pictures of its preview.
            live-tile.js: Pictures of the source itself.
            live.js: All tiles show every picture again.
            live.js: In step: every tile shows the same instant.
            live.js: Nothing is heard.
            live.js: The viewer answers again.
            live.js: This computer cannot decode everything: … keyframes only.
            live.js: tile shows
            live.js: tiles show
            live.js: … is heard.
            live-connection.js: Paused: the page is hidden.
            live-connection.js: The connection to the viewer was lost.
            live-connection.js: The network is not there.
            live-connection.js: The viewer has ended the live pictures.
            live-connection.js: The viewer has sent nothing for a while.
            live-connection.js: Trying again in … s.
            live-connection.js: Trying again.
            live-tile.js: No connection to the viewer…; trying again
            live-tile.js: Paused while the page is hidden
            live-tile.js: keyframes only
            live-toolbar.js: … of …
            picture-zoom.js: The whole picture of …, now …
            playback-controls.js: Waiting for …
            playback-tile.js: Pictures of its preview.
            playback-tile.js: Pictures of the source itself.

        the definition of the alert (deploy/monitoring/alerts.yaml): shown with it or in the list of all alerts
            health-alerts.js: Ask /readyz of the collector, which says why.
            health-alerts.js: At the present rate the disk is full within three days, and retention is off.
            health-alerts.js: Check whether the box is up, and run tributary-agent doctor on it.
            health-alerts.js: Connections are refused: boxes that are not authorised, wrong keys, port scanners. Recording is not affected.
            health-alerts.js: Correct the box’s configuration, or block the address in the firewall. The log has the reasons.
            health-alerts.js: Find out what else uses the disk (iotop), or whether it is a network file system.
            health-alerts.js: Find out whether the source is away or late, or the collector does not accept samples.
            health-alerts.js: It takes more than a second to make samples durable. Nothing is lost; agents keep more samples.
            health-alerts.js: Keep the log from before the restart, and report it if it happens again.
            health-alerts.js: Look at the box’s network; wireless networks cause this. tributary retime improves the times afterwards.
            health-alerts.js: Look at the disk; if only one source is affected, the log says what its file waits for.
            health-alerts.js: No samples are accepted. An alert about the disk usually comes with it.
            health-alerts.js: One of the two collectors of a source lacks more than 100 MB, which the agent keeps for it.
            health-alerts.js: Otherwise lower the bit rate, or improve the network.
            health-alerts.js: Remove sessions that are not needed, or set keep-free, keep-age or keep-bytes at the collector.
            health-alerts.js: Samples are missing in the recording; the ledger says which, when and why.
            health-alerts.js: Samples arrive more than ten seconds after they were captured. After an outage this is the backlog, and passes.
            health-alerts.js: Samples have reached the collector and have not been on its disk for 30 seconds. About two seconds are normal.
            health-alerts.js: Start the collector that is named, or give its agents a third one.
            health-alerts.js: The agent is connected and sends no samples.
            health-alerts.js: The agent stores more than a gigabyte. Above its --spool-limit the oldest samples are dropped.
            health-alerts.js: The collector does not answer. Agents that run keep their samples: an hour of 4 Mbit/s, before the oldest are dropped.
            health-alerts.js: The viewer does not answer this page. Recording does not depend on it; the page shows the values that came last.
            health-alerts.js: systemctl status tributary-viewer; check the network between this browser and the viewer.
            health-alerts.js: The disk has not responded for half a minute. Nothing becomes durable; agents keep their samples.
            health-alerts.js: The disk has reported an error. Files end at their last durable fragment, and the rest is sent again.
            health-alerts.js: The minimum free space is reached. Agents keep their samples; recording resumes by itself when there is room.
            health-alerts.js: The receiving thread makes no progress. systemd restarts the collector after a minute, and the session continues.
            health-alerts.js: The session’s timeline shows every gap with its cause. Cables, a faster box, a lower bit rate, a larger spool.
            health-alerts.js: The source has not ended and its agent is not connected. If the agent runs, it keeps its samples and sends them later.
            health-alerts.js: The source’s times are known less precisely than half a picture: the network delays messages strongly.
            health-alerts.js: There are more than 512 sources. All are recorded, but the others are not watched.
            health-alerts.js: Use a second collector with its own archive.
            health-alerts.js: dmesg, smartctl -a. If the disk is failing, record to another one, then run tributary verify on the old archive.
            health-alerts.js: dmesg. A network file system may be dead, or a disk may be retrying.
            health-alerts.js: systemctl status tributary-collector; the last line of its log says why it ended.
            health-alerts.js: tributary agent SOURCE status names a camera that is unplugged or frozen.

        the agent’s report on a command (POST …/commands)
            live-commands.js: Is stopped
            live-commands.js: the bit rate is set.
            live-commands.js: the capture is stopped.
            live-commands.js: the capture runs.
            live-commands.js: the crop is set.
            live-commands.js: the frame rate is set.
            live-commands.js: the mirroring is set.
            live-commands.js: the next picture is a keyframe.
            live-commands.js: the rotation is set.
            live-commands.js: the size is set.
            live-commands.js: … kept at the agent, software ….

        a number, a unit or a joint of another sentence
            format.js: … ms
            format.js: … µs
            format.js: …… days … h
            format.js: …… h … min
            format.js: …… min … s

        nobody: a type, a style or a line of the console
            causes.js: corrupt record
            causes.js: damaged input
            causes.js: device lost
            causes.js: driver drop
            causes.js: encoder overload
            causes.js: impossible times
            causes.js: packet loss
            causes.js: spool full
            causes.js: the source began too many files at once
            causes.js: too many files
            causes.js: write failed
            export.js: passthrough …
            health.js: notice bad
            live-follower.js: no sound: …
            live-follower.js: … of a live source begins anew: …
            live-follower.js: …/mp4; codecs="…"
            live-level.js: the level of a live source is not shown: …
            live-painter.js: pictures of a live source begin anew: …
            live-tile.js: …/mp4; codecs="…"
            media-buffer.js: …; codecs="…"
            picture-zoom.js: translate(…%, …%) scale(…)
            playback-level.js: the level of a recorded source is not shown: …
            playback-media.js: …/mp4; codecs="…"
            theme.js: (prefers-color-scheme: dark)
            theme.js: not all
            timeline-draw.js: … …px …
            timeline-hover.js: impossible times
            timeline-hover.js: not sent again
            timeline-hover.js: the box has lost
            timeline-hover.js: too many files
            timeline-hover.js: write failed
            live-tile.js: Media Source
        """#
}
