// Package kubernetes tests packaging/kubernetes: each object has only fields of its kind, and no pod has
// unneeded rights.
package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

func TestObjects(t *testing.T) {
	files, err := filepath.Glob("../../packaging/kubernetes/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, text := range strings.Split(string(text), "\n---\n") {
			var named struct{ Kind string }
			require.NoError(t, yaml.Unmarshal([]byte(text), &named))
			object := map[string]any{"ConfigMap": new(corev1.ConfigMap), "Service": new(corev1.Service), "StatefulSet": new(appsv1.StatefulSet),
				"Job": new(batchv1.Job), "NetworkPolicy": new(networkingv1.NetworkPolicy)}[named.Kind]
			require.NotNil(t, object, named.Kind)
			require.NoError(t, yaml.UnmarshalStrict([]byte(text), object), text)
			checkPods(t, object)
		}
	}
}

// checkPods checks that no container runs as root, gains rights or lacks limits, and that each of its mounts has
// an existing volume. No mount is inside another one: root would own the directories between them, and the
// container's user could not write there (droid into ~/.factory).
func checkPods(t *testing.T, object any) {
	var pod corev1.PodSpec
	var claims []corev1.PersistentVolumeClaim
	switch o := object.(type) {
	case *batchv1.Job:
		pod = o.Spec.Template.Spec
	case *appsv1.StatefulSet:
		pod, claims = o.Spec.Template.Spec, o.Spec.VolumeClaimTemplates
		require.Equal(t, o.Spec.Selector.MatchLabels, o.Spec.Template.Labels)
		require.True(t, *pod.ShareProcessNamespace, "serve is process 1, and the orphans of commands stay as zombies")
	default:
		return
	}
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.False(t, *pod.AutomountServiceAccountToken)
	volumes, used := map[string]bool{}, map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range claims {
		volumes[c.Name] = true
	}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		require.False(t, *c.SecurityContext.AllowPrivilegeEscalation, c.Name)
		require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
		require.False(t, c.Resources.Limits.Memory().IsZero(), c.Name)
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
			for _, other := range c.VolumeMounts {
				require.False(t, strings.HasPrefix(m.MountPath, other.MountPath+"/"), "%s lies in %s", m.MountPath, other.MountPath)
			}
		}
	}
	require.Equal(t, volumes, used, "volumes, and what is mounted")
}
