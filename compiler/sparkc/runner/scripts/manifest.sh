# Prints FILE, a release's bundle.json.
section manifest
cat -- "$FILE" 2>/dev/null
return 0
