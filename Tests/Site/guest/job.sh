# Runs in a machine from its start to its end: does what is put into do/, one thing after the other, and leaves what it
# said in done/.
mkdir -p do done
if [ -e tone ]; then rig-tone 440 > /dev/null 2>&1 & fi
while :; do
    for script in do/*.sh; do
        name=$(basename "$script" .sh)
        [ -e "$script" ] && [ ! -e "done/$name" ] || continue
        timeout 150 bash "$script" > "done/$name.out" 2>&1 < /dev/null
        echo $? > "done/$name.status"
        mv "done/$name.status" "done/$name"
    done
    sleep 0.1
done
